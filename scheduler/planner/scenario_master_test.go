package planner

import (
	"fmt"
	"strings"

	"rmd/scheduler/input"
)

// register NAME: the AM registers, perhaps again.
func doRegister(w *world, a args, out *strings.Builder) {
	_, app := w.app(a.need(0))
	if !w.refused(out, w.plan(&input.RegisterAttempt{Attempt: app.AttemptID()})) {
		_, app := w.app(a.need(0))
		w.show(out, all)
		fmt.Fprintf(out, "response %d\n", app.Response)
	}
}
