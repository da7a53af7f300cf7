package state

import (
	"rmd/fsm/state/part"
	"rmd/fsm/state/table"
	"rmd/internal/codec"
)

// Section is one table in a snapshot.
type Section = part.Section[State]

// parts lists the parts of the state, in the order of a snapshot. A derived part is beside its table. A
// part that is not here would be missing in snapshots and shared by forks.
var parts = []part.Part[State]{
	metaPart,
	part.Single(2, "configuration", func(s *State, c *codec.Coder) { s.Versions.Code(c) }),
	part.Single(3, "join-tokens", func(s *State, c *codec.Coder) { s.JoinTokens.Code(c) }),
	namePart,
	queuePart,
	userPart,
	nodePart,
	appPart,
	part.Rows(9, "asks", func(s *State) *table.Table[AskSlot, Ask] { return &s.Asks.Table }, (*Ask).Code),
	locationPart,
	containerPart,
	part.Rows(12, "diagnostics", func(s *State) *table.Table[DiagnosticsSlot, Diagnostics] { return &s.Diagnostics }, func(r *Diagnostics, c *codec.Coder) { c.String(&r.Text) }),
	part.Keyed(13, "reservations", func(s *State) *table.Keyed[ReservationSlot, Reservation, *Reservation] { return &s.Reservations.Keyed }, (*Reservation).Code),
	part.Rows(14, "reservation-bans", func(s *State) *table.Table[ReservationBanSlot, ReservationBan] { return &s.ReservationBans.Table }, (*ReservationBan).Code),
	part.Keyed(15, "requests", func(s *State) *table.Keyed[RequestSlot, Request, *Request] { return &s.Requests.Keyed }, (*Request).Code),
	attemptPart,
	nodeApplicationPart,
	delegationPart,
	hostsPart,
	accessPart,
	autopilotPart,
	resizePart,
	removalPart,
	auditPart,
	part.Keyed(25, "labels", func(s *State) *table.Keyed[LabelSlot, Label, *Label] { return &s.Labels.Keyed }, (*Label).Code),
	labelledHostPart,
	labelUsePart,
	part.Rows(28, "labelled-containers", func(s *State) *table.Table[ContainerSlot, LabelSlot] { return &s.AskedLabels.Table }, func(l *LabelSlot, c *codec.Coder) { codec.Slot(c, l) }),
	preemptionPart,
	part.Rows(30, "preempted", func(s *State) *table.Table[AppSlot, Preempted] { return &s.Preempted.Table }, (*Preempted).Code),
	part.Single(31, "preemption-totals", func(s *State, c *codec.Coder) { s.PreemptionTotals.Code(c) }),
	part.Rows(32, "lengths", func(s *State) *table.Table[LengthsSlot, Lengths] { return &s.Lengths.Table }, (*Lengths).Code),
	placementPart,
	dynamicQueuePart,
	gangPart,
	leasePart,
	formerQueuePart,
	part.Rows(38, "large-containers", func(s *State) *table.Table[LargeSlot, LargeContainer] { return &s.LargeContainers.Table }, (*LargeContainer).Code),
	avoidedPart,
	part.Rows(40, "debts", func(s *State) *table.Table[QueueSlot, Debts] { return &s.Debts.Table }, (*Debts).Code),
	appTokens,
}

// Sections returns the sections of all parts, in the order of a snapshot.
func Sections() []Section {
	out := make([]Section, len(parts))
	for i, p := range parts {
		out[i] = p.Section()
	}
	return out
}

// Reindex builds everything that is not in snapshots in a state from a snapshot. It returns an
// error if the state is inconsistent.
func (s *State) Reindex() error {
	for _, p := range parts {
		p.Reindex(s)
	}
	for _, p := range parts {
		p.Link(s)
	}
	return s.Check()
}
