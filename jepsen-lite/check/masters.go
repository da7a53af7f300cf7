package check

import (
	"fmt"

	"rmd/jepsen-lite/history"
)

// attempt is what an AM has received since its last registration.
type attempt struct {
	id        string
	told      map[string]amResponse // completions by container
	granted   []string
	lastIndex uint64 // the highest index of an answer
	lastNS    int64
	resyncs   int
}

type amResponse struct {
	response int32
	link     Link
}

// masters checks the answers to AMs: S12. The end of a container is in one response, however often
// that response is repeated, and never before the container ended. An AM that continues to call
// receives every end.
func (j *judge) masters() {
	f := j.found["S12"]
	f.Unit = "completions"
	attempts := map[string]*attempt{}
	var order []*attempt
	for _, c := range j.calls {
		id := c.In.Attempt
		if c.Type != history.OK || id == "" || (c.F != history.Allocate && c.F != history.RegisterAM) {
			continue
		}
		a := attempts[id]
		if a == nil {
			a = &attempt{id: id, told: map[string]amResponse{}}
			attempts[id], order = a, append(order, a)
		}
		if c.F == history.RegisterAM {
			if a.lastNS != 0 { // it has registered again and receives ends that it may have missed again
				a.told = map[string]amResponse{}
				a.resyncs++
			}
			continue
		}
		j.pull(a, c)
	}
	if j.log == nil {
		return
	}
	everTold := map[string]bool{}
	for _, a := range order {
		for id := range a.told { // the order does not matter
			everTold[id] = true
		}
	}
	for _, a := range order {
		if a.resyncs == 0 {
			j.complete(a, everTold)
		}
	}
}

// pull processes one answered call.
func (j *judge) pull(a *attempt, c history.Call) {
	f := j.found["S12"]
	for _, g := range c.Out.Granted {
		a.granted = append(a.granted, g.Container)
	}
	for _, x := range c.Out.Completed {
		f.Checked++
		l := callLink(c, fmt.Sprintf("response %d reports the end of %s to %s", c.Out.Response, x.Container, a.id))
		was, again := a.told[x.Container]
		switch {
		case !again:
			a.told[x.Container] = amResponse{c.Out.Response, l}
		case was.response != c.Out.Response:
			f.fail(c.Return, []Link{was.link, l}, "response %[2]d reports the end of %[1]s, and response %[3]d reports it again",
				x.Container, was.response, c.Out.Response)
		}
		j.hadEnded(c, x, l)
	}
	a.lastNS = c.Return
	a.lastIndex = max(a.lastIndex, c.Out.Index)
}

// hadEnded checks that an end was committed before the AM received it.
func (j *judge) hadEnded(c history.Call, x history.Completion, l Link) {
	if j.log == nil {
		return
	}
	f := j.found["S12"]
	fact, ok := j.log.Container(x.Container)
	if !ok || fact.Ended() == 0 {
		f.fail(c.Return, []Link{l}, "%s hears of the end of %s, which the log does not have", c.In.Attempt, x.Container)
		return
	}
	if t := j.timeOf(fact.Ended()); j.opt.Exact && t > c.Return {
		f.fail(c.Return, []Link{l, {NS: t, Lane: "log", Index: fact.Ended(), Text: x.Container + " ends"}},
			"%s hears of the end of %s before any replica applies entry %d", c.In.Attempt, x.Container, fact.Ended())
	}
}

// complete checks that an AM received every end: of its containers, each that ended in an entry
// before the index of the AM's last answer. An end in that same entry may have come after the
// answer.
func (j *judge) complete(a *attempt, everTold map[string]bool) {
	f := j.found["S12"]
	for _, id := range a.granted {
		x, ok := j.log.Container(id)
		if !ok || x.Ended() == 0 || x.Ended() >= a.lastIndex || everTold[id] || x.Restored {
			continue
		}
		f.Checked++
		f.fail(a.lastNS, []Link{{NS: j.timeOf(x.Ended()), Lane: "log", Index: x.Ended(), Text: id + " ends"},
			{NS: a.lastNS, Lane: a.id, Index: a.lastIndex, Text: "no answer to " + a.id + ", up to the last one, reports it"}},
			"%s ended at index %d, but no answer to %s reports it, up to the last one with index %d", id, x.Ended(),
			a.id, a.lastIndex)
	}
}
