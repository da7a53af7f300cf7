package model

import (
	"strings"

	"github.com/anishathalye/porcupine"

	"rmd/jepsen-lite/history"
)

// queueState is a queue as its administrators see it. Its state is unknown before the first read or
// change, because the initial configuration is not an operation.
type queueState struct {
	known  bool
	exists bool
	state  string // RUNNING, DRAINING (or STOPPED meanwhile), STOPPED; "" not known
	text   string // its configuration; "" not known
}

const (
	draining = "DRAINING"
	stopped  = "STOPPED"
)

// queues divides a history by queue. A stop of a queue is also one of all queues below it.
func queues(calls []history.Call) []Part {
	var g group
	for i := range calls {
		if c := &calls[i]; counts(c) && aboutQueue(c.F) {
			g.add(c.In.Queue, *c)
		}
	}
	var out []Part
	for _, name := range g.names {
		p := Part{Kind: "queue", Name: name, model: queueModel}
		for i := range calls {
			c := &calls[i]
			above := c.F == history.QueueStop && strings.HasPrefix(name, c.In.Queue+".")
			if counts(c) && aboutQueue(c.F) && (c.In.Queue == name || above) {
				p.calls = append(p.calls, *c)
			}
		}
		out = append(out, p)
	}
	return out
}

func aboutQueue(f history.F) bool {
	switch f {
	case history.QueueAdd, history.QueueSet, history.QueueStop, history.QueueStart, history.QueueDelete, history.ReadQueue:
		return true
	}
	return false
}

var queueModel = porcupine.Model{
	Init: func() any { return queueState{} },
	Step: func(state, input, output any) (bool, any) {
		s, in, out := state.(queueState), input.(step), output.(answer)
		if out.missing {
			ok := !s.known || !s.exists
			return ok, queueState{known: true}
		}
		if in.f == history.ReadQueue {
			ok, next := s.read(out.out)
			return ok, next
		}
		if ok, next := s.write(in); ok || out.known {
			return ok, next
		}
		return true, s
	},
}

func (s queueState) write(in step) (bool, queueState) {
	if in.f == history.QueueAdd {
		ok := !s.known || !s.exists
		return ok, queueState{known: true, exists: true, state: running, text: in.in.Text}
	}
	if s.known && !s.exists {
		return false, s
	}
	switch in.f {
	case history.QueueSet:
		s.text = in.in.Text
	case history.QueueStop:
		if s.state != stopped {
			s.state = draining
		}
	case history.QueueStart:
		s.state = running
	case history.QueueDelete:
		ok := s.state != running
		return ok, queueState{known: true}
	}
	s.known, s.exists = true, true
	return true, s
}

func (s queueState) read(out history.Value) (bool, queueState) {
	if s.known && !s.exists {
		return false, s
	}
	if out.Text != "" && s.text != "" && out.Text != s.text {
		return false, s
	}
	if out.State != "" && s.state != "" && out.State != s.state && (s.state != draining || out.State != stopped) {
		return false, s
	}
	s.known, s.exists = true, true
	if out.Text != "" {
		s.text = out.Text
	}
	if out.State != "" {
		s.state = out.State
	}
	return true, s
}
