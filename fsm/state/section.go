package state

import (
	"fmt"

	"rmd/fsm/state/table"
	"rmd/internal/codec"
)

// Section is one table in a snapshot: every record with its slot, in slot order. One function both
// encodes and decodes a record.
type Section struct {
	ID   uint8 // part of the format: append only
	Name string
	// Len is the number of records.
	Len func(s *State) int
	// Each calls f with every slot, ascending, until f returns false.
	Each func(s *State, f func(slot uint32) bool)
	// Code encodes the record at slot, or decodes it into an empty slot.
	Code func(s *State, slot uint32, c *codec.Coder)
}

// part is one part of the state: a table, or a record that exists once.
type part interface {
	section() Section
	init(s *State)        // prepares an empty state
	fork(from, to *State) // to is a copy of from that shares everything
	reindex(s *State)     // builds what finds the restored records
	link(s *State)        // sets what follows from the restored records of all parts
	check(s *State) error // compares the part with the records from which it follows
}

// copied is a part that needs no more than its section: forks have a copy of it.
type copied struct{ Section }

func (p copied) section() Section { return p.Section }
func (copied) init(*State)        {}
func (copied) fork(_, _ *State)   {}
func (copied) reindex(*State)     {}
func (copied) link(*State)        {}
func (copied) check(*State) error { return nil }

// derived is a part with something that follows from records, of this part or of others.
type derived struct {
	part
	links  func(s *State)       // nil: everything that follows is in snapshots
	agrees func(s *State) error // nil: nothing to compare
}

func (p derived) link(s *State) {
	if p.links != nil {
		p.links(s)
	}
}

func (p derived) check(s *State) error {
	if err := p.part.check(s); err != nil || p.agrees == nil {
		return err
	}
	return p.agrees(s)
}

// tablePart is a table of the state.
type tablePart[S table.Slot, T any] struct {
	copied
	of func(s *State) *table.Table[S, T]
}

func (p tablePart[S, T]) fork(from, to *State) { *p.of(to) = p.of(from).Fork() }

func rows[S table.Slot, T any](id uint8, name string, of func(s *State) *table.Table[S, T], code func(r *T, c *codec.Coder)) part {
	return tablePart[S, T]{copied{Section{
		ID: id, Name: name,
		Len: func(s *State) int { return of(s).Len() },
		Each: func(s *State, f func(slot uint32) bool) {
			of(s).Each(func(slot S, _ *T) bool { return f(uint32(slot)) })
		},
		Code: func(s *State, at uint32, c *codec.Coder) {
			t, slot := of(s), S(at)
			if !c.Decoding() {
				code(t.Get(slot), c) // encoding must not write: forks share pages
				return
			}
			if at == 0 || at >= table.MaxSlots || uint32(slot) != at || t.Has(slot) {
				c.Fail(fmt.Errorf("%w: slot %d of %s", codec.ErrMalformed, at, name))
				return
			}
			code(t.Place(slot), c)
		},
	}}, of}
}

// keyedPart is a table of the state whose records are found by their keys.
type keyedPart[S table.Slot, T any, R table.Record[T]] struct {
	copied
	of func(s *State) *table.Keyed[S, T, R]
}

func (p keyedPart[S, T, R]) init(s *State)        { p.of(s).Init() }
func (p keyedPart[S, T, R]) fork(from, to *State) { *p.of(to) = p.of(from).Fork() }
func (p keyedPart[S, T, R]) reindex(s *State)     { p.of(s).Reindex() }
func (p keyedPart[S, T, R]) check(s *State) error { return p.of(s).Check(p.Name) }

func keyedRows[S table.Slot, T any, R table.Record[T]](id uint8, name string, of func(s *State) *table.Keyed[S, T, R], code func(r *T, c *codec.Coder)) part {
	records := rows(id, name, func(s *State) *table.Table[S, T] { return &of(s).Table }, code)
	return keyedPart[S, T, R]{copied{records.section()}, of}
}

// single returns a part that is exactly one record, at slot 1.
func single(id uint8, name string, code func(s *State, c *codec.Coder)) part {
	return copied{Section{
		ID: id, Name: name,
		Len:  func(*State) int { return 1 },
		Each: func(_ *State, f func(uint32) bool) { f(1) },
		Code: func(s *State, slot uint32, c *codec.Coder) {
			if slot != 1 {
				c.Fail(fmt.Errorf("%w: slot %d of %s", codec.ErrMalformed, slot, name))
				return
			}
			code(s, c)
		},
	}}
}

// more returns a part with additional fields for those records of a table for which has returns
// true. Another part has the table itself. A field that a later version adds to a record gets such a
// part, so that snapshots without it can still be read.
func more[S table.Slot, T any](id uint8, name string, of func(s *State) *table.Table[S, T], has func(r *T) bool, code func(r *T, c *codec.Coder)) part {
	each := func(s *State, f func(slot uint32) bool) {
		of(s).Each(func(slot S, r *T) bool { return !has(r) || f(uint32(slot)) })
	}
	return copied{Section{
		ID: id, Name: name, Each: each,
		Len: func(s *State) (n int) {
			each(s, func(uint32) bool { n++; return true })
			return n
		},
		Code: func(s *State, at uint32, c *codec.Coder) {
			t, slot := of(s), S(at)
			switch {
			case !c.Decoding():
				code(t.Get(slot), c)
			case uint32(slot) != at || !t.Has(slot) || has(t.Get(slot)):
				c.Fail(fmt.Errorf("%w: slot %d of %s", codec.ErrMalformed, at, name))
			default:
				if code(t.Mut(slot), c); !has(t.Get(slot)) {
					c.Fail(fmt.Errorf("%w: slot %d of %s says nothing", codec.ErrMalformed, at, name))
				}
			}
		},
	}}
}

// parts lists the parts of the state, in the order of a snapshot. A derived part is beside its table. A
// part that is not here would be missing in snapshots and shared by forks.
var parts = []part{
	metaPart,
	single(2, "configuration", func(s *State, c *codec.Coder) { s.Versions.Code(c) }),
	single(3, "join-tokens", func(s *State, c *codec.Coder) { s.JoinTokens.Code(c) }),
	namePart,
	queuePart,
	userPart,
	nodePart,
	appPart,
	rows(9, "asks", func(s *State) *table.Table[AskSlot, Ask] { return &s.Asks.Table }, (*Ask).Code),
	locationPart,
	containerPart,
	rows(12, "diagnostics", func(s *State) *table.Table[DiagnosticsSlot, Diagnostics] { return &s.Diagnostics }, func(r *Diagnostics, c *codec.Coder) { c.String(&r.Text) }),
	keyedRows(13, "reservations", func(s *State) *table.Keyed[ReservationSlot, Reservation, *Reservation] { return &s.Reservations.Keyed }, (*Reservation).Code),
	rows(14, "reservation-bans", func(s *State) *table.Table[ReservationBanSlot, ReservationBan] { return &s.ReservationBans.Table }, (*ReservationBan).Code),
	keyedRows(15, "requests", func(s *State) *table.Keyed[RequestSlot, Request, *Request] { return &s.Requests.Keyed }, (*Request).Code),
	attemptPart,
	nodeApplicationPart,
	delegationPart,
	hostsPart,
	accessPart,
	autopilotPart,
	resizePart,
	removalPart,
	auditPart,
	keyedRows(25, "labels", func(s *State) *table.Keyed[LabelSlot, Label, *Label] { return &s.Labels.Keyed }, (*Label).Code),
	labelledHostPart,
	labelUsePart,
	rows(28, "labelled-containers", func(s *State) *table.Table[ContainerSlot, LabelSlot] { return &s.AskedLabels.Table }, func(l *LabelSlot, c *codec.Coder) { codec.Slot(c, l) }),
	preemptionPart,
	rows(30, "preempted", func(s *State) *table.Table[AppSlot, Preempted] { return &s.Preempted.Table }, (*Preempted).Code),
	single(31, "preemption-totals", func(s *State, c *codec.Coder) { s.PreemptionTotals.Code(c) }),
	rows(32, "lengths", func(s *State) *table.Table[LengthsSlot, Lengths] { return &s.Lengths.Table }, (*Lengths).Code),
	placementPart,
	dynamicQueuePart,
	gangPart,
	leasePart,
	formerQueuePart,
	rows(38, "large-containers", func(s *State) *table.Table[LargeSlot, LargeContainer] { return &s.LargeContainers.Table }, (*LargeContainer).Code),
	avoidedPart,
	rows(40, "debts", func(s *State) *table.Table[QueueSlot, Debts] { return &s.Debts.Table }, (*Debts).Code),
	appTokens,
}

// Sections returns the sections of all parts, in the order of a snapshot.
func Sections() []Section {
	out := make([]Section, len(parts))
	for i, p := range parts {
		out[i] = p.section()
	}
	return out
}

// Reindex builds everything that is not in snapshots in a state from a snapshot. It returns an
// error if the state is inconsistent.
func (s *State) Reindex() error {
	for _, p := range parts {
		p.reindex(s)
	}
	for _, p := range parts {
		p.link(s)
	}
	return s.Check()
}
