package state

import (
	"errors"
	"fmt"

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

// MaxSlots bounds the slots in a snapshot, so that damaged bytes cannot cause unbounded memory use.
// After a peak, slots may lie far apart: an empty page between them costs one word.
const MaxSlots = 1 << slotBits

func table[S slot, T any](id uint8, name string, of func(s *State) *Table[S, T], code func(r *T, c *codec.Coder)) Section {
	return Section{
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
			if at == 0 || at >= MaxSlots || uint32(slot) != at || t.Has(slot) {
				c.Fail(fmt.Errorf("%w: slot %d of %s", codec.ErrMalformed, at, name))
				return
			}
			code(t.place(slot), c)
		},
	}
}

// more returns a section with additional fields for those records of a table for which has returns
// true. Another section has the table itself. A field that a later version adds to a record gets
// such a section, so that snapshots without it can still be read.
func more[S slot, T any](id uint8, name string, of func(s *State) *Table[S, T], has func(r *T) bool, code func(r *T, c *codec.Coder)) Section {
	each := func(s *State, f func(slot uint32) bool) {
		of(s).Each(func(slot S, r *T) bool { return !has(r) || f(uint32(slot)) })
	}
	return Section{
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
				c.Fail(fmt.Errorf("%w: slot %d of %s", codec.ErrMalformed, slot, name))
			default:
				if code(t.mut(slot), c); !has(t.Get(slot)) {
					c.Fail(fmt.Errorf("%w: slot %d of %s says nothing", codec.ErrMalformed, slot, name))
				}
			}
		},
	}
}

// single returns a section with exactly one record, at slot 1.
func single(id uint8, name string, code func(s *State, c *codec.Coder)) Section {
	return Section{
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
	}
}

// Sections returns the sections of all tables of the state, in the order of a snapshot.
func Sections() []Section {
	return []Section{
		single(1, "meta", func(s *State, c *codec.Coder) { s.Meta.code(c) }),
		single(2, "configuration", (*State).codeVersions),
		single(3, "join-tokens", (*State).codeTokens),
		table(4, "names", func(s *State) *Table[NameSlot, Name] { return &s.Names }, func(r *Name, c *codec.Coder) { c.String(&r.Text) }),
		table(5, "queues", func(s *State) *Table[QueueSlot, Queue] { return &s.Queues }, (*Queue).code),
		table(6, "users", func(s *State) *Table[UserSlot, User] { return &s.Users }, (*User).code),
		table(7, "nodes", func(s *State) *Table[NodeSlot, Node] { return &s.Nodes }, (*Node).code),
		table(8, "applications", func(s *State) *Table[AppSlot, App] { return &s.Apps }, (*App).code),
		table(9, "asks", func(s *State) *Table[AskSlot, Ask] { return &s.Asks }, (*Ask).code),
		table(10, "locations", func(s *State) *Table[LocationSlot, Location] { return &s.Locations }, (*Location).code),
		table(11, "containers", func(s *State) *Table[ContainerSlot, Container] { return &s.Containers }, (*Container).code),
		table(12, "diagnostics", func(s *State) *Table[DiagnosticsSlot, Diagnostics] { return &s.Diagnostics }, func(r *Diagnostics, c *codec.Coder) { c.String(&r.Text) }),
		table(13, "reservations", func(s *State) *Table[ReservationSlot, Reservation] { return &s.Reservations }, (*Reservation).code),
		table(14, "reservation-bans", func(s *State) *Table[ReservationBanSlot, ReservationBan] { return &s.ReservationBans }, (*ReservationBan).code),
		table(15, "requests", func(s *State) *Table[RequestSlot, Request] { return &s.Requests }, (*Request).code),
		table(16, "attempts", func(s *State) *Table[AttemptSlot, Attempt] { return &s.Attempts }, (*Attempt).code),
		table(17, "node-applications", func(s *State) *Table[NodeApplicationSlot, NodeApplication] { return &s.NodeApplications }, (*NodeApplication).code),
		table(18, "delegation-tokens", func(s *State) *Table[DelegationSlot, DelegationToken] { return &s.Delegations }, (*DelegationToken).code),
		single(19, "hosts", (*State).codeHosts),
		single(20, "access-tokens", (*State).codeAccess),
		single(21, "autopilot", func(s *State, c *codec.Coder) { s.Autopilot.code(c) }),
		table(22, "resizes", func(s *State) *Table[ResizeSlot, Resize] { return &s.Resizes }, (*Resize).code),
		table(23, "removals", func(s *State) *Table[RemovalsSlot, Removals] { return &s.Removable }, (*Removals).code),
		table(24, "audit", func(s *State) *Table[AuditSlot, AuditEntry] { return &s.Audit }, (*AuditEntry).code),
		table(25, "labels", func(s *State) *Table[LabelSlot, Label] { return &s.Labels }, (*Label).code),
		table(26, "labelled-hosts", func(s *State) *Table[LabelledHostSlot, LabelledHost] { return &s.LabelledHosts }, (*LabelledHost).code),
		table(27, "label-uses", func(s *State) *Table[LabelUseSlot, LabelUse] { return &s.LabelUses }, (*LabelUse).code),
		table(28, "labelled-containers", func(s *State) *Table[ContainerSlot, LabelSlot] { return &s.AskedLabels }, func(l *LabelSlot, c *codec.Coder) { codec.Slot(c, l) }),
		table(29, "preemptions", func(s *State) *Table[ContainerSlot, Preemption] { return &s.Preemptions }, (*Preemption).code),
		table(30, "preempted", func(s *State) *Table[AppSlot, Preempted] { return &s.Preempted }, (*Preempted).code),
		single(31, "preemption-totals", func(s *State, c *codec.Coder) { s.PreemptionTotals.code(c) }),
		table(32, "lengths", func(s *State) *Table[LengthsSlot, Lengths] { return &s.Lengths }, (*Lengths).code),
		table(33, "placements", func(s *State) *Table[AppSlot, Placement] { return &s.Placements }, (*Placement).code),
		table(34, "dynamic-queues", func(s *State) *Table[QueueSlot, DynamicQueue] { return &s.DynamicQueues }, (*DynamicQueue).code),
		table(35, "gangs", func(s *State) *Table[AppSlot, Gang] { return &s.Gangs }, (*Gang).code),
		table(36, "leases", func(s *State) *Table[ContainerSlot, Lease] { return &s.Leases }, (*Lease).code),
		table(37, "former-queues", func(s *State) *Table[AppSlot, FormerQueue] { return &s.FormerQueues }, (*FormerQueue).code),
		table(38, "large-containers", func(s *State) *Table[LargeSlot, LargeContainer] { return &s.LargeContainers }, (*LargeContainer).code),
		single(39, "avoided", (*State).codeAvoided),
		table(40, "debts", func(s *State) *Table[QueueSlot, Debts] { return &s.Debts }, (*Debts).code),
	}
}

// ErrInconsistent means that the records of a restored state do not fit together.
var ErrInconsistent = errors.New("records do not fit together")

// Reindex builds everything that is not in snapshots in a state from a snapshot. It returns an
// error if the state is inconsistent.
func (s *State) Reindex() error {
	s.byContainer.reserve(s.Containers.Len())
	s.bySeq.reserve(s.Apps.Len())
	s.linkUndelivered()
	s.linkResizes()
	s.linkLocations()
	s.linkRemovals()
	s.linkAudits()
	s.linkNames()
	s.Queues.Each(func(slot QueueSlot, _ *Queue) bool {
		s.byPath.insert(s.hashOfQueue(slot), slot, s.hashOfQueue)
		return true
	})
	s.Users.Each(func(slot UserSlot, _ *User) bool {
		s.byUser.insert(s.hashOfUser(slot), slot, s.hashOfUser)
		return true
	})
	s.Apps.Each(func(slot AppSlot, _ *App) bool { s.bySeq.insert(s.hashOfApp(slot), slot, s.hashOfApp); return true })
	s.Nodes.Each(func(slot NodeSlot, _ *Node) bool {
		s.byNode.insert(s.hashOfNode(slot), slot, s.hashOfNode)
		return true
	})
	s.Containers.Each(func(slot ContainerSlot, _ *Container) bool {
		s.byContainer.insert(s.hashOfContainer(slot), slot, s.hashOfContainer)
		return true
	})
	s.Reservations.Each(func(slot ReservationSlot, _ *Reservation) bool {
		s.byReservation.insert(s.hashOfReservation(slot), slot, s.hashOfReservation)
		return true
	})
	s.Requests.Each(func(slot RequestSlot, _ *Request) bool {
		s.byRequest.insert(s.hashOfRequest(slot), slot, s.hashOfRequest)
		return true
	})
	s.NodeApplications.Each(func(slot NodeApplicationSlot, _ *NodeApplication) bool {
		s.byNodeApplication.insert(s.hashOfNodeApplication(slot), slot, s.hashOfNodeApplication)
		return true
	})
	s.Delegations.Each(func(slot DelegationSlot, _ *DelegationToken) bool {
		s.byDelegation.insert(s.hashOfDelegation(slot), slot, s.hashOfDelegation)
		return true
	})
	s.Labels.Each(func(slot LabelSlot, _ *Label) bool {
		s.byLabel.insert(s.hashOfLabel(slot), slot, s.hashOfLabel)
		return true
	})
	s.LabelledHosts.Each(func(slot LabelledHostSlot, _ *LabelledHost) bool {
		s.byLabelledHost.insert(s.hashOfLabelledHost(slot), slot, s.hashOfLabelledHost)
		return true
	})
	s.LabelUses.Each(func(slot LabelUseSlot, _ *LabelUse) bool {
		s.byLabelUse.insert(s.hashOfLabelUse(slot), slot, s.hashOfLabelUse)
		return true
	})
	s.linkLabels()
	s.linkDynamicQueues()
	s.unwrapCluster()
	return s.Check()
}

func codeStrings(c *codec.Coder, v *[]string) {
	codec.List(c, v, func(c *codec.Coder, s *string) { c.String(s) })
}

func codeSlots[S slot](c *codec.Coder, v *[]S) {
	codec.List(c, v, func(c *codec.Coder, s *S) { codec.Slot(c, s) })
}

func (m *Meta) code(c *codec.Coder) {
	c.String(&m.ClusterID)
	c.I64(&m.ClusterTimestamp)
	c.U32(&m.Epoch)
	c.U32(&m.Level)
	c.I64(&m.NowMillis)
	c.U32(&m.NextApp)
	c.U64(&m.NextReservation)
	c.Resource(&m.Cluster)
	c.I32(&m.UsableNodes)
	c.I32(&m.EndedApps)
	codec.Slot(c, &m.OldestRequest)
	codec.Slot(c, &m.NewestRequest)
	c.U64(&m.Made)
	c.U64(&m.Fulfilled)
	for i := range m.Cancelled {
		c.U64(&m.Cancelled[i])
	}
	c.U64(&m.Allocated)
	c.U64(&m.Completed)
	c.U64(&m.Digest)
	for i := range m.Keys {
		m.Keys[i].code(c)
	}
	c.I32(&m.NextKey)
	c.U32(&m.NextToken)
	c.U64(&m.NodeChanges)
	c.U64(&m.Submitted)
	c.U32(&m.ImportEpoch)
}

func (s *State) codeVersions(c *codec.Coder) {
	codec.List(c, &s.Versions, func(c *codec.Coder, v *QueueVersion) {
		c.U64(&v.Version)
		codec.List(c, &v.Properties, func(c *codec.Coder, p *Property) {
			c.String(&p.Name)
			c.String(&p.Value)
		})
		codeStrings(c, (*[]string)(&v.Kinds))
		c.Bool(&v.Dominant)
		c.I64(&v.AtMillis)
		c.String(&v.Author)
		c.String(&v.Comment)
	})
}

func (s *State) codeTokens(c *codec.Coder) {
	codec.List(c, &s.JoinTokens, func(c *codec.Coder, t *JoinToken) {
		c.Raw(&t.Hash)
		c.Bool(&t.Voter)
		c.I64(&t.ExpiresMillis)
		c.String(&t.CreatedBy)
		c.String(&t.UsedBy)
	})
}
