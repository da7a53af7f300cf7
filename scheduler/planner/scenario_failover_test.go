package planner

import (
	"fmt"
	"strings"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/internal/codec"
)

// failover fork | snapshot | lost: a new leader takes over from a fork of the state, from its
// encoded tables, or from the state before the last input. The old planner stays as a twin, except
// after lost: every later input must lead to the same events and replies.
func doFailover(w *world, a args, out *strings.Builder) {
	st := w.p.st.Fork()
	switch mode := a.need(0); mode {
	case "lost":
		w.p, w.twins = must(New(w.before, Options{Eager: w.eager})), nil
		w.log = w.log[:len(w.log)-len(w.events)]
		fmt.Fprintf(out, "a new leader, the last entry lost\n")
		return
	case "snapshot":
		st = reencode(w.t, st)
	case "fork":
	default:
		w.t.Fatalf("failover %s: want fork, snapshot or lost", mode)
	}
	if st.Digest() != w.p.st.Digest() {
		w.t.Fatal("the digest has changed")
	}
	w.twins = append(w.twins, w.p)
	w.p = must(New(st, Options{Eager: w.eager}))
	fmt.Fprintf(out, "a new leader\n")
}

// reencode encodes every table and decodes it into a new state, as a snapshot does.
func reencode(t interface{ Fatalf(string, ...any) }, st *state.State) *state.State {
	to := state.New()
	for _, s := range state.Sections() {
		s.Each(st, func(slot uint32) bool {
			enc := codec.NewEncoder(nil)
			s.Code(st, slot, enc)
			dec := codec.NewDecoder(enc.Bytes())
			s.Code(to, slot, dec)
			if err := dec.Finish(); err != nil {
				t.Fatalf("section %s slot %d: %v", s.Name, slot, err)
			}
			return true
		})
	}
	if err := to.Reindex(); err != nil {
		t.Fatalf("restore: %v", err)
	}
	return to
}

// steps: prints the kinds of the last input's events. All of them are in one log entry.
func doSteps(w *world, a args, out *strings.Builder) {
	for _, e := range w.events {
		if _, ok := e.(*event.TimeAdvanced); !ok {
			fmt.Fprintf(out, "%s\n", e.Kind())
		}
	}
	fmt.Fprintf(out, "one entry\n")
}
