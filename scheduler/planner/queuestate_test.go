package planner

import (
	"slices"
	"strings"
	"testing"

	"rmd/scheduler/input"
	"rmd/yarn"
)

// TestQueueStatesOutliveConfigurations checks that a configuration without the state of a queue
// does not start a queue that an operator stopped, as in YARN. A configuration with the state is
// obeyed. The answer names each effect, also in a dry run.
func TestQueueStatesOutliveConfigurations(t *testing.T) {
	w := newWorld(t)
	w.tellAll("conf queues=(a:50, b:50, b.x:40, b.y:60)\nstop b\nstop a")
	key := func(path string) string { return confPrefix + path + ".state" }
	plain := slices.Clone(w.props)
	with := func(more ...string) []input.Property {
		out := slices.Clone(plain)
		for i := 0; i < len(more); i += 2 {
			out = append(out, input.Property{Name: key(more[i]), Value: more[i+1]})
		}
		return out
	}
	is := func(step string, want ...string) {
		t.Helper()
		var got []string
		for i := range w.p.Config().Queues {
			if st, _ := w.p.queues.stateOf(w.p.Config().Queues[i].Path); st != yarn.QueueRunning {
				got = append(got, w.p.Config().Queues[i].Path)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v are stopped, want %v", step, got, want)
		}
	}
	apply := func(step string, props []input.Property, dry bool, says ...string) {
		t.Helper()
		r := w.plan(&input.SetQueues{Properties: props, DryRun: dry})
		if f := r.Refused(); f != nil {
			t.Fatalf("%s: SetQueues: %v, details %q", step, f, f.Details)
		}
		notes := r.(*input.SetQueuesReply).Warnings
		if len(notes) != len(says) {
			t.Errorf("%s: it says %q, want %q", step, notes, says)
			return
		}
		for i := range says {
			if !strings.HasPrefix(notes[i], says[i]) {
				t.Errorf("%s: it says %q, want %q", step, notes[i], says[i])
			}
		}
	}
	is("stopped by hand", "root.a", "root.b", "root.b.x", "root.b.y")
	for _, dry := range []bool{true, false} {
		apply("a file without states", plain, dry, "root.a stays STOPPED", "root.b stays STOPPED")
		is("a file without states", "root.a", "root.b", "root.b.x", "root.b.y")
	}
	apply("a dry run", with("root.a", "RUNNING"), true, "root.a is started", "root.b stays STOPPED")
	is("a dry run", "root.a", "root.b", "root.b.x", "root.b.y")
	apply("a file that starts one", with("root.a", "RUNNING"), false, "root.a is started", "root.b stays STOPPED")
	is("a file that starts one", "root.b", "root.b.x", "root.b.y")
	if f := w.plan(&input.SetQueues{Properties: with("root.b.x", "RUNNING")}).Refused(); f == nil || len(f.Details) != 1 ||
		!strings.Contains(f.Details[0], "its parent root.b is STOPPED and stays so") {
		t.Errorf("a queue that is to run below one that does not: %v", f)
	}
	apply("a parent alone", with("root.b", "RUNNING"), false, "root.b is started", "root.b.x stays STOPPED",
		"root.b.y stays STOPPED")
	is("a parent alone", "root.b.x", "root.b.y")
	apply("a parent and what is below", with("root.b", "RUNNING", "root.b.x", "RUNNING"), false, "root.b.x is started",
		"root.b.y stays STOPPED")
	apply("stopped by a file", with("root.a", "STOPPED"), false, "root.a is stopped", "root.b.y stays STOPPED")
	apply("a file that says no more of it", plain, false, "root.a stays STOPPED", "root.b.y stays STOPPED")
	is("a file that says no more of it", "root.a", "root.b.y")
	w.tellAll("stop a start\nstop y start")
	apply("nothing to say", plain, false)
	is("nothing to say")
}

// TestLabelSettings checks that labels can be disabled only when there are none.
func TestLabelSettings(t *testing.T) {
	w := newWorld(t)
	w.tellAll("conf queues=(a:100)")
	off := slices.Clone(w.props)
	on := append(slices.Clone(off), input.Property{Name: "yarn.node-labels.enabled", Value: "true"})
	refused := func(props []input.Property, want string) {
		t.Helper()
		f := w.plan(&input.SetQueues{Properties: props}).Refused()
		if f == nil || len(f.Details) != 1 || !strings.HasPrefix(f.Details[0], want) {
			t.Errorf("SetQueues: refusal %#v, want one detail that begins with %q", f, want)
		}
	}
	taken := func(in input.Input) {
		t.Helper()
		if f := w.plan(in).Refused(); f != nil {
			t.Error(f)
		}
	}
	taken(&input.SetQueues{Properties: on})
	taken(&input.SetLabels{Labels: []input.Label{{Name: "x"}}})
	refused(off, "yarn.node-labels.enabled: the cluster has 1 labels; remove them before you disable labels")
	taken(&input.RemoveLabels{Names: []string{"x"}})
	taken(&input.SetQueues{Properties: off})
}
