package planner

import (
	"fmt"
	"strings"

	"rmd/fsm/state"
	"rmd/scheduler/input"
)

var gangStates = []string{"asking", "waiting", "starting", "served", "over"}

// gang NAME: shows the gang and its nodes. gang NAME spec=SPEC declares it, gang NAME spec=none
// withdraws it.
func doGang(w *world, a args, out *strings.Builder) {
	slot, app := w.app(a.need(0))
	if spec := a.get("spec", ""); spec != "" {
		w.refused(out, w.plan(&input.SetGang{ID: app.ID, Gang: strings.TrimPrefix(spec, "none")}))
		return
	}
	if !w.p.st.Gangs.Has(slot) {
		fmt.Fprintf(out, "%s has no gang\n", a.need(0))
		return
	}
	g := w.p.st.Gangs.Get(slot)
	members, nodes := w.p.st.GangReserved(slot)
	fmt.Fprintf(out, "%s %s: %s", a.need(0), g.Spec.String(), gangStates[g.State])
	if g.State == state.GangWaiting {
		fmt.Fprintf(out, " since %d", g.SinceMillis-1_000_000)
	}
	if members > 0 {
		fmt.Fprintf(out, ", holds %d nodes for %d, expected at %d", nodes, members, g.ExpectedMillis-1_000_000)
	}
	fmt.Fprintln(out)
}
