package explain

import (
	"fmt"

	"rmd/fsm/state"
	"rmd/internal/thousands"
	"rmd/scheduler"
)

// Gang is an application's gang: containers that start together or not at all.
type Gang struct {
	Gang      string `json:"gang"` // as declared
	State     string `json:"state"`
	Members   int64  `json:"members"`
	Asked     int64  `json:"asked"`                 // containers under its key
	Fit       int64  `json:"fit"`                   // members that have room now
	AgeMillis int64  `json:"age_ms,omitempty"`      // since all were asked for
	Held      int64  `json:"held,omitempty"`        // members for which nodes are reserved
	Nodes     int64  `json:"nodes,omitempty"`       // reserved nodes
	InMillis  int64  `json:"start_in_ms,omitempty"` // until the reserved nodes are expected to have room
}

var gangStates = [...]string{state.GangAsking: "ASKING", state.GangWaiting: "WAITING", state.GangStarting: "STARTING",
	state.GangServed: "STARTED", state.GangOver: "TIMED_OUT"}

// explainGang says what the gang of an application's first ask waits for.
func (v asks) explainGang(x *Explanation, slot state.AppSlot, ask state.AskSlot, all *survey) {
	g, k := v.st.Gangs.Get(slot), v.st.Asks.Get(ask)
	w := v.sched.WhyGangWaits(slot, ask)
	held, nodes := v.st.GangReserved(slot)
	x.Gang = &Gang{Gang: g.Spec.String(), State: gangStates[g.State], Members: g.Spec.Count, Asked: k.Count, Fit: w.Fit,
		Held: held, Nodes: nodes}
	if g.SinceMillis > 0 {
		x.Gang.AgeMillis = v.st.Meta.NowMillis - g.SinceMillis
	}
	if held > 0 {
		x.Gang.InMillis = max(g.ExpectedMillis-v.st.Meta.NowMillis, 0)
	}
	x.Never = w.Never
	of := fmt.Sprintf("its %s of %s start together", thousands.Count(int(g.Spec.Count), "container"),
		v.cfg.Kinds.Format(k.Size))
	switch w.Reason {
	case scheduler.GangIncomplete:
		x.because(w.Reason, "%s, and it asks for %d so far", of, k.Count)
	case scheduler.GangNever:
		x.because(w.Reason, "%s: the nodes or the maximum of %s are too small for that, so they can never start", of, x.Queue)
	case scheduler.QueueMaxCapacity, scheduler.UserLimit:
		x.because(w.Reason, "%s: %s has too little room for all of them under its limits", of, x.Queue)
	case scheduler.NoReason:
		if before := v.before(slot, ask, all); before != scheduler.NextPass {
			x.because(before, "%s: there is room, but %s", of, comesFirst[before])
			return
		}
		x.because(scheduler.NextPass, "%s: there is room, and the next pass starts them", of)
	case scheduler.GangWaits:
		x.because(w.Reason, "%s: %d have room now%s", of, w.Fit, holds(x.Gang))
	default:
		x.because(w.Reason, "%s: %s; %d have room now%s", of, w.Reason.Verdict(), w.Fit, holds(x.Gang))
	}
}

var comesFirst = map[scheduler.Reason]string{
	scheduler.BehindOtherAsk: "another ask of the application is served first",
	scheduler.BehindFIFO:     "other applications of the queue are served first",
	scheduler.BehindQueue:    "other queues are served first",
}

// holds says which nodes a gang has reserved.
func holds(g *Gang) string {
	if g.Held == 0 {
		return ", and it holds no node yet"
	}
	return fmt.Sprintf("; %s reserved for it", are(int(g.Nodes)))
}
