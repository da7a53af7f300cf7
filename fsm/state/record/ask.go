package record

import (
	"slices"

	"rmd/fsm/state/table"
	"rmd/internal/codec"
	"rmd/yarn"
)

// Ask is what an application asks for under one scheduler key (priority and allocation request id).
// It exists while Count or Reservations is above 0.
type Ask struct {
	App AppSlot
	// Missed counts the offers that the ask has missed since a node without a label last served it;
	// set by AskMissesUpdated. It is 0 in clusters without labels.
	Missed uint32
	Key    yarn.SchedulerKey
	Size   yarn.Resource // of one container
	Count  int64         // containers still wanted; the count of "*"
	Relax  bool          // nodes other than the named ones may serve it; relaxLocality of "*"
	AM     bool          // for the AM's container
	Label  LabelSlot     // label of the nodes that may serve it
	// Opportunities counts missed scheduling opportunities, for delay scheduling. ReReservations
	// counts re-reservations. AskCountersUpdated sets both.
	Opportunities  uint32
	ReReservations uint32
	Reservations   int32        // nodes reserved for it
	Entries        int32        // resource names: "*" and the Locations
	Locations      LocationSlot // first Location
	Next           AskSlot      // in the application's key order; see AskBefore
	// IncreaseOf is the slot of the container that the ask would make larger, on that container's
	// node; 0: the ask is for new containers. Such a hidden ask was not sent by the AM under this
	// key. Not in snapshots: follows from Resizes.
	IncreaseOf ContainerSlot
}

// Code encodes the record, or decodes into it.
func (k *Ask) Code(c *codec.Coder) {
	codec.Slot(c, &k.App)
	c.Key(&k.Key)
	c.Resource(&k.Size)
	c.I64(&k.Count)
	c.Bool(&k.Relax)
	c.Bool(&k.AM)
	c.U32(&k.Opportunities)
	c.U32(&k.ReReservations)
	c.I32(&k.Reservations)
	c.I32(&k.Entries)
	codec.Slot(c, &k.Locations)
	codec.Slot(c, &k.Next)
	codec.Slot(c, &k.Label)
	c.U32(&k.Missed)
}

// Asks is the table of asks.
type Asks struct{ table.Table[AskSlot, Ask] }

// Find returns the slot of an application's ask for new containers under a key, or 0 if there is
// none. Hidden asks for increases come after all others in the list.
func (t *Asks) Find(a *App, key yarn.SchedulerKey) AskSlot {
	for slot, k := range t.Of(a) {
		if k.IncreaseOf != 0 {
			return 0
		}
		if k.Key == key {
			return slot
		}
	}
	return 0
}

// Blacklisted reports whether the application has blacklisted the node's host or rack.
func (a *App) Blacklisted(n *Node) bool { return a.blacklists(n.Host) || a.blacklists(n.RackID) }

func (a *App) blacklists(name NameSlot) bool {
	_, found := slices.BinarySearch(a.Blacklist, name)
	return found
}

// For returns the slot of the ask under a key or, if increaseOf is not 0, of the hidden ask for the
// increase of that container. It returns 0 if there is none.
func (t *Asks) For(a *App, key yarn.SchedulerKey, increaseOf ContainerSlot, cs *Containers, rs *Resizes) AskSlot {
	if increaseOf == 0 {
		return t.Find(a, key)
	}
	if !cs.Has(increaseOf) {
		return 0
	}
	if r := rs.Of(cs.Get(increaseOf)); r != nil {
		return r.Ask
	}
	return 0
}
