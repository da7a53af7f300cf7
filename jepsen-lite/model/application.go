package model

import (
	"strings"

	"github.com/anishathalye/porcupine"

	"rmd/jepsen-lite/history"
)

// The eight states of an application, as readers see them.
const (
	absent    = ""
	submitted = "SUBMITTED"
	accepted  = "ACCEPTED"
	running   = "RUNNING"
	finished  = "FINISHED"
	failed    = "FAILED"
	killed    = "KILLED"
	forgotten = "forgotten"
)

type application struct{ state, queue string }

func ended(state string) bool { return state == finished || state == failed || state == killed }

func live(state string) bool { return state == submitted || state == accepted || state == running }

// applications divides a history by application. A submission whose id no client received is
// identified by its name.
func applications(calls []history.Call) []Part {
	ids := map[string]string{} // by name; never iterated
	for i := range calls {
		if c := &calls[i]; c.F == history.Submit && c.Type == history.OK && c.In.Name != "" && c.Out.App != "" {
			ids[c.In.Name] = c.Out.App
		}
	}
	var g group
	finishes := map[string]bool{}
	for i := range calls {
		c := &calls[i]
		if !counts(c) {
			continue
		}
		id := c.In.App
		switch c.F {
		case history.Submit:
			if c.Out.App != "" {
				id = c.Out.App
			} else if id == "" {
				id = ids[c.In.Name]
			}
		case history.Kill, history.Move, history.ReadApp:
		case history.Finish:
			if id == "" {
				id = history.AppOf(c.In.Attempt)
			}
			finishes[id] = true
		default:
			continue
		}
		g.add(id, *c)
	}
	var out []Part
	for _, id := range g.names {
		out = append(out, Part{Kind: "application", Name: id, calls: g.calls[id], model: applicationModel,
			facts: facts{finishes: finishes[id]}})
	}
	return out
}

var applicationModel = porcupine.Model{
	Init: func() any { return application{} },
	Step: func(state, input, output any) (bool, any) {
		s, in, out := state.(application), input.(step), output.(answer)
		ok, next := s.step(in, out)
		return ok, next
	},
}

func (s application) step(in step, out answer) (bool, application) {
	if out.missing {
		return s.missing()
	}
	switch in.f {
	case history.Submit:
		return s.submit(in, out)
	case history.ReadApp:
		return s.read(in, out)
	}
	if !out.known && !live(s.state) { // too late or too early to have an effect
		return true, s
	}
	switch in.f {
	case history.Kill:
		if live(s.state) {
			s.state = killed
		}
		return s.state != absent && s.state != forgotten, s
	case history.Move:
		if !live(s.state) {
			return false, s
		}
		s.queue = in.in.Queue
		return true, s
	}
	if live(s.state) { // finish
		s.state = finished
	}
	return s.state == finished || s.state == killed, s
}

// missing handles the answer that the application does not exist: not yet, or not any more.
func (s application) missing() (bool, application) {
	if ended(s.state) {
		s.state = forgotten
	}
	return s.state == absent || s.state == forgotten, s
}

// submit handles a submission. A repeated one has no effect.
func (s application) submit(in step, out answer) (bool, application) {
	if s.state != absent {
		return true, s
	}
	s.state, s.queue = submitted, in.in.Queue
	if out.out.Queue != "" {
		s.queue = out.out.Queue
	}
	return true, s
}

func (s application) read(in step, out answer) (bool, application) {
	if s.state == absent || !reaches(s.state, out.out.State, in.facts.finishes) {
		return false, s
	}
	if q := out.out.Queue; q != "" && !ended(out.out.State) && s.queue != "" && !sameQueue(q, s.queue) {
		return false, s
	}
	s.state = out.out.State
	return true, s
}

// sameQueue reports whether two names can mean the same queue: one may be the last part of the
// other's path.
func sameQueue(a, b string) bool {
	return a == b || strings.HasSuffix(a, "."+b) || strings.HasSuffix(b, "."+a)
}

// reaches reports whether an application can change from one state to another without an operation:
// attempts start, fail and are retried. If the history has the AMs' own operations (finishes), an
// application does not finish without one.
func reaches(from, to string, finishes bool) bool {
	if from == to {
		return true
	}
	if !live(from) {
		return false
	}
	switch to {
	case accepted, running, failed:
		return true
	case finished:
		return !finishes
	}
	return false
}
