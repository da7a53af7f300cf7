package state

import (
	"fmt"

	"rmd/fsm/state/check"
)

// ErrInconsistent means that the records of a restored state do not fit together.
var ErrInconsistent = check.ErrInconsistent

// Check verifies that the state is consistent: it computes every sum that a table keeps from the
// records again, and follows every reference. A restored snapshot must pass it, and property tests
// call it after every step. It reads the whole state, which takes tens of milliseconds for 100,000
// containers. References come first, so that the later checks can follow them.
func (s *State) Check() error {
	t := s.tables()
	for _, verify := range []func() error{t.CheckReferences, s.Queues.CheckTree, t.CheckLists, s.checkParts,
		t.CheckTotals} {
		if err := verify(); err != nil {
			return fmt.Errorf("%w: %w", ErrInconsistent, err)
		}
	}
	return nil
}

// checkParts checks each part: its index, and what follows from other records.
func (s *State) checkParts() error {
	for _, p := range parts {
		if err := p.Check(s); err != nil {
			return err
		}
	}
	return nil
}

// agrees returns a check of a part, which package check has.
func agrees(f func(*check.Tables) error) func(*State) error {
	return func(s *State) error { return f(s.tables()) }
}

// tables returns the tables of the state for package check.
func (s *State) tables() *check.Tables {
	return &check.Tables{
		Apps:             &s.Apps,
		AskedLabels:      &s.AskedLabels,
		Asks:             &s.Asks,
		Attempts:         &s.Attempts,
		Avoided:          s.Avoided,
		Containers:       &s.Containers,
		Debts:            &s.Debts,
		Kept:             &s.Kept,
		Delegations:      &s.Delegations,
		Diagnostics:      &s.Diagnostics,
		DynamicQueues:    &s.DynamicQueues,
		FormerQueues:     &s.FormerQueues,
		Gangs:            &s.Gangs,
		LabelUses:        &s.LabelUses,
		LabelledHosts:    &s.LabelledHosts,
		Labels:           &s.Labels,
		LargeContainers:  &s.LargeContainers,
		Leases:           &s.Leases,
		Locations:        &s.Locations,
		Meta:             &s.Meta,
		Names:            &s.Names,
		NodeApplications: &s.NodeApplications,
		Nodes:            &s.Nodes,
		Placements:       &s.Placements,
		Preempted:        &s.Preempted,
		Preemptions:      &s.Preemptions,
		Queues:           &s.Queues,
		Removable:        &s.Removable,
		Requests:         &s.Requests,
		ReservationBans:  &s.ReservationBans,
		Reservations:     &s.Reservations,
		Resizes:          &s.Resizes,
		Users:            &s.Users,
	}
}
