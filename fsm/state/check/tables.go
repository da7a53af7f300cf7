package check

import (
	"errors"

	"rmd/fsm/state/record"
	"rmd/fsm/state/table"
	"rmd/internal/boolint"
)

// ErrInconsistent means that the records of a state do not fit together.
var ErrInconsistent = errors.New("records do not fit together")

// Tables are the tables of a state, to be checked.
type Tables struct {
	Apps             *record.Apps
	AskedLabels      *record.AskedLabels
	Asks             *record.Asks
	Attempts         *record.Attempts
	Avoided          record.AvoidedNodes
	Containers       *record.Containers
	Debts            *record.QueueDebts
	Kept             *record.QueueKeeps
	Delegations      *record.Delegations
	Diagnostics      *table.Table[record.DiagnosticsSlot, record.Diagnostics]
	DynamicQueues    *record.DynamicQueues
	FormerQueues     *record.FormerQueues
	Gangs            *record.Gangs
	LabelUses        *record.LabelUses
	LabelledHosts    *record.LabelledHosts
	Labels           *record.Labels
	LargeContainers  *record.LargeContainers
	Leases           *record.Leases
	Locations        *record.Locations
	Meta             *record.Meta
	Names            *record.Names
	NodeApplications *record.NodeApplications
	Nodes            *record.Nodes
	Placements       *record.Placements
	Preempted        *record.Losses
	Preemptions      *record.Preemptions
	Queues           *record.Queues
	Removable        *table.Table[record.RemovalsSlot, record.Removals]
	Requests         *record.Requests
	ReservationBans  *record.ReservationBans
	Reservations     *record.Reservations
	Resizes          *record.Resizes
	Users            *record.Users
}

func count(b bool) int32 { return boolint.Of[int32](b) }
