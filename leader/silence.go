package leader

import (
	"time"

	"rmd/fsm/state"
	"rmd/scheduler/input"
)

// silence finds nodes that miss heartbeats. Every tick compares when each node was heard from last.
// Only what this leadership has missed itself counts: a leader that begins marks a node only after
// it has listened for the whole time. The marks of the leader before it stay until their nodes are
// heard, because a live node is heard within one interval, and a container on any other node would
// be lost.
type silence struct {
	// now is how long this leadership has listened, in milliseconds. A tick adds at most one tick
	// interval, and nothing if no inputs were taken because the log was behind. So a leader that
	// stood still blames no node for it.
	now   int64
	tick  int64   // the tick interval
	wall  int64   // Unix milliseconds at the latest tick
	heard []int64 // by node: 1 + now when it was heard last; 0: not heard yet
	limit int64   // silence is longer than this; 0: no node is silent
	due   bool
}

// arm lets every node that is not silent begin a full interval.
func (s *silence) arm(st *state.State, limit int64) {
	*s = silence{now: s.now, limit: limit}
	st.Nodes.Each(func(slot state.NodeSlot, n *state.Node) bool {
		s.follow(slot, n)
		return true
	})
}

// follow begins or ends the watch of a node whose state has changed.
func (s *silence) follow(node state.NodeSlot, n *state.Node) {
	switch {
	case !n.Heard():
		s.set(node, 0)
	case !n.Silent() && s.at(node) == 0:
		s.set(node, s.now+1)
	}
}

func (s *silence) at(node state.NodeSlot) int64 {
	if int(node) >= len(s.heard) {
		return 0
	}
	return s.heard[node]
}

func (s *silence) set(node state.NodeSlot, at int64) {
	if int(node) >= len(s.heard) {
		if at == 0 {
			return
		}
		s.heard = append(s.heard, make([]int64, int(node)+1-len(s.heard))...)
	}
	s.heard[node] = at
}

// touch records that a node is alive.
func (s *silence) touch(st *state.State, node state.NodeSlot) {
	if int(node) < len(s.heard) || st.Nodes.Has(node) { // the numbers may come from anywhere
		s.set(node, s.now+1)
	}
}

// missed reports whether a node has certainly sent nothing for longer than the limit. Its last
// heartbeat may have come up to one tick after the recorded time.
func (s *silence) missed(at int64) bool { return s.now-(at-1)-s.tick >= s.limit }

// change returns whether a node must be marked, or its mark must end.
func (s *silence) change(slot state.NodeSlot, n *state.Node) (silent, heard bool) {
	at := s.at(slot)
	if at == 0 || !n.Heard() {
		return false, false
	}
	missed := s.missed(at)
	return missed && !n.Silent(), !missed && n.Silent()
}

// look advances the time and finds out whether any node must be marked.
func (s *silence) look(st *state.State, nowMillis int64, elapsed, interval time.Duration, listens bool) {
	s.wall, s.tick = nowMillis, interval.Milliseconds()
	if listens {
		s.now += min(elapsed, interval).Milliseconds()
	}
	if s.limit == 0 || !listens {
		return
	}
	s.due = false
	st.Nodes.Each(func(slot state.NodeSlot, n *state.Node) bool {
		silent, heard := s.change(slot, n)
		s.due = silent || heard
		return !s.due
	})
}

// take returns the changes that are due, or nil. There may be more than fit in one input.
func (s *silence) take(st *state.State) input.Input {
	if !s.due {
		return nil
	}
	s.due = false
	in := &input.NodeSilence{}
	st.Nodes.Each(func(slot state.NodeSlot, n *state.Node) bool {
		switch silent, heard := s.change(slot, n); {
		case silent:
			in.Silent = append(in.Silent, input.SilentNode{Node: slot, SinceMillis: max(s.wall-(s.now-(s.at(slot)-1)), 1)})
		case heard:
			in.Heard = append(in.Heard, slot)
		}
		s.due = len(in.Silent) == input.MaxSilence || len(in.Heard) == input.MaxSilence
		return !s.due
	})
	if len(in.Silent)+len(in.Heard) == 0 { // the nodes were heard since the tick
		return nil
	}
	return in
}
