//as: scheduler/planner/node.go

package planner

import "rmd/fsm/state"

func rename(st *state.State, slot state.NodeSlot) {
	st.Nodes.Get(slot)
	st.Nodes.Mut(slot).Rack = "" // want only events do that
}
