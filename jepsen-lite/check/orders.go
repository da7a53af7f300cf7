package check

import (
	"fmt"

	"rmd/jepsen-lite/history"
	"rmd/jepsen-lite/model"
)

func describe(c history.Call) string { return model.Describe(c) }

// handed is a container that an AM received. With it, grants checks S6 by what AMs and nodes saw,
// independent of the log.
type handed struct {
	attempt, node string
	response      int32
	link          Link
}

// grants checks that no container id was given to two AMs, nodes or responses.
func (j *judge) grants() {
	f := j.found["S6"]
	f.Unit = "containers"
	seen := map[string]handed{} // no iteration, so the order does not matter
	for _, c := range j.calls {
		if c.F != history.Allocate || c.Type != history.OK {
			continue
		}
		for _, g := range c.Out.Granted {
			f.Checked++
			now := handed{c.In.Attempt, g.Node, c.Out.Response,
				callLink(c, fmt.Sprintf("%s is granted to %s on %s", g.Container, c.In.Attempt, g.Node))}
			was, again := seen[g.Container]
			if !again {
				seen[g.Container] = now
			} else if was.attempt != now.attempt || was.node != now.node || was.response != now.response {
				f.fail(c.Return, []Link{was.link, now.link},
					"%s was granted twice: to %s on %s (response %d) and to %s on %s (response %d)",
					g.Container, was.attempt, was.node, was.response, now.attempt, now.node, now.response)
			}
		}
	}
	started := map[string]*history.Order{}
	for _, o := range j.h.Orders {
		if o.Kind != history.StartContainer {
			continue
		}
		f.Checked++
		if was := started[o.Container]; was == nil {
			started[o.Container] = o
		} else if was.Node != o.Node {
			f.fail(o.NS, []Link{orderLink(was), orderLink(o)}, "%s was started on %s and on %s", o.Container, was.Node, o.Node)
		}
	}
}

func orderLink(o *history.Order) Link {
	what := o.Container
	if what == "" {
		what = o.App
	}
	if o.Kind == history.Token {
		what = fmt.Sprintf("key %d", o.Key)
	}
	text := fmt.Sprintf("%s receives the order: %s %s", o.Node, o.Kind, what)
	if o.Replica != "" {
		text += " (by " + o.Replica + ")"
	}
	return Link{NS: o.NS, Lane: o.Node, Text: text}
}

// orders compares the nodes' journals with the log: S11. An order that no committed entry carries
// came from a deposed leader, or too early.
func (j *judge) orders() {
	f := j.found["S11"]
	f.Unit = "orders"
	if j.log == nil {
		if len(j.h.Orders) > 0 {
			f.Why = "the log is not part of the history"
		}
		return
	}
	for _, o := range j.h.Orders {
		f.Checked++
		index, why := j.carries(o)
		switch t := j.timeOf(index); {
		case why != "":
			f.fail(o.NS, []Link{orderLink(o)}, "%s receives the order to %s, %s", o.Node, orderText(o), why)
		case index != 0 && j.opt.Exact && t > o.NS:
			f.fail(o.NS, []Link{orderLink(o), {NS: t, Lane: "log", Index: index,
				Text: fmt.Sprintf("index %d is applied for the first time", index)}},
				"%s receives the order to %s before any replica applies its entry %d", o.Node, orderText(o), index)
		}
	}
}

func orderText(o *history.Order) string {
	switch o.Kind {
	case history.CleanUp:
		return "clean up " + o.App
	case history.Token:
		return fmt.Sprintf("use key %d", o.Key)
	}
	return string(o.Kind) + " " + o.Container
}

// carries returns the index of the entry that carries an order, or the reason why there is none.
// Index 0 without a reason means that the order needs no entry: a node must stop a container that
// nobody knows.
func (j *judge) carries(o *history.Order) (index uint64, why string) {
	switch o.Kind {
	case history.CleanUp:
		a, ok := j.log.App(o.App)
		if ok && a.Ended == 0 {
			return 0, fmt.Sprintf("which is %s", a.State)
		}
		return a.Ended, ""
	case history.Token:
		at, ok := j.log.Key(o.Key)
		if !ok {
			return 0, "which no entry creates"
		}
		return at, ""
	}
	x, ok := j.log.Container(o.Container)
	switch {
	case o.Kind == history.StopContainer && !ok:
		return 0, ""
	case !ok:
		return 0, "which no entry allocates"
	case o.Kind == history.StartContainer && x.Node.String() != o.Node:
		return 0, fmt.Sprintf("which is allocated on %s", x.Node)
	case o.Kind == history.StartContainer:
		return x.Made, ""
	case o.Kind == history.SignalContainer && x.Signalled == 0:
		return 0, "which no entry signals"
	case o.Kind == history.SignalContainer:
		return 0, "" // the ledger knows only the newest signal; this may be an older one
	case x.Ended() == 0:
		return 0, "which no entry ends"
	}
	return x.Ended(), ""
}
