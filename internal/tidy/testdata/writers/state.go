//as: fsm/state/node.go

package state

func rename(s *State, slot NodeSlot) { s.Nodes.Mut(slot).Rack = "" }
