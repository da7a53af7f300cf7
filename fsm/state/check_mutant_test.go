package state

import (
	"strings"
	"testing"

	"rmd/fsm/state/table"
)

// TestDanglingReferencesAreSeen checks that Check finds a dangling reference in each field that has
// one, before it follows the reference.
func TestDanglingReferencesAreSeen(t *testing.T) {
	const nowhere = 99
	for name, spoil := range map[string]func(s *State){
		"queue's parent":               func(s *State) { s.Queues.Mut(2).Parent = nowhere },
		"queue's child":                func(s *State) { s.Queues.Mut(s.Queues.Root()).Children = []QueueSlot{nowhere} },
		"user's queue":                 func(s *State) { s.Users.Mut(1).Queue = nowhere },
		"user's name":                  func(s *State) { s.Users.Mut(1).Name = nowhere },
		"application's user":           func(s *State) { s.Apps.Mut(1).User = nowhere },
		"application's queue":          func(s *State) { s.Apps.Mut(1).Queue = nowhere },
		"application's charge":         func(s *State) { s.Apps.Mut(1).UserSlot = nowhere },
		"application's asks":           func(s *State) { s.Apps.Mut(1).Asks = nowhere },
		"application's containers":     func(s *State) { s.Apps.Mut(1).Containers = nowhere },
		"application's undelivered":    func(s *State) { s.Apps.Mut(1).Undelivered = nowhere },
		"application's reservation":    func(s *State) { s.Apps.Mut(1).Reservations = nowhere },
		"application's nodes":          func(s *State) { s.Apps.Mut(1).NodeApplications = nowhere },
		"application's attempts":       func(s *State) { s.Apps.Mut(1).History = nowhere },
		"AM's node":                    func(s *State) { s.Apps.Mut(1).MasterNode = nowhere },
		"ask's application":            func(s *State) { s.Asks.Mut(1).App = nowhere },
		"ask's next":                   func(s *State) { s.Asks.Mut(1).Next = nowhere },
		"ask's locations":              func(s *State) { s.Asks.Mut(1).Locations = nowhere },
		"location's name":              func(s *State) { s.Locations.Mut(1).Name = nowhere },
		"location's next":              func(s *State) { s.Locations.Mut(1).Next = nowhere },
		"node's host":                  func(s *State) { s.Nodes.Mut(1).Host = nowhere },
		"node's rack":                  func(s *State) { s.Nodes.Mut(1).RackID = nowhere },
		"node's containers":            func(s *State) { s.Nodes.Mut(1).Containers = nowhere },
		"node's reservation":           func(s *State) { s.Nodes.Mut(1).Reservation = nowhere },
		"node's bans":                  func(s *State) { s.Nodes.Mut(1).ReservationBans = nowhere },
		"node's applications":          func(s *State) { s.Nodes.Mut(1).NodeApplications = nowhere },
		"ban's application":            func(s *State) { _, b := table.Alloc(&s.ReservationBans.Table); b.App = nowhere },
		"ban's next":                   func(s *State) { _, b := table.Alloc(&s.ReservationBans.Table); b.App, b.Next = 1, nowhere },
		"request's next":               func(s *State) { s.Requests.Mut(1).Next = nowhere },
		"oldest request":               func(s *State) { s.Meta.OldestRequest = nowhere },
		"newest request":               func(s *State) { s.Meta.NewestRequest = nowhere },
		"container's application":      func(s *State) { s.Containers.Mut(1).App = nowhere },
		"container's node":             func(s *State) { s.Containers.Mut(1).Node = nowhere },
		"container's diagnostics":      func(s *State) { s.Containers.Mut(1).Diagnostics = nowhere },
		"container's next":             func(s *State) { s.Containers.Mut(1).NextApp = nowhere },
		"container's next on node":     func(s *State) { s.Containers.Mut(1).NextNode = nowhere },
		"container's next undelivered": func(s *State) { s.Containers.Mut(1).NextUndelivered = nowhere },
		"reservation's application":    func(s *State) { s.Reservations.Mut(1).App = nowhere },
		"reservation's node":           func(s *State) { s.Reservations.Mut(1).Node = nowhere },
		"reservation's next":           func(s *State) { s.Reservations.Mut(1).NextApp = nowhere },
		"reservation's previous":       func(s *State) { s.Reservations.Mut(1).PrevApp = nowhere },
	} {
		t.Run(name, func(t *testing.T) {
			s := refusable(t)
			near := ask(1, k1, 5, 3)
			near.Name, near.Count = "h1", 1
			apply(t, s, near)
			if err := s.tables().CheckReferences(); err != nil {
				t.Fatalf("before: %v", err)
			}
			spoil(s)
			if err := s.tables().CheckReferences(); err == nil || !strings.Contains(err.Error(), "not there") {
				t.Errorf("CheckReferences says %v", err)
			}
		})
	}
}
