package planner

import "testing"

// TestExpectedEndOfMaster checks when an AM is expected to end: with the newest container of its
// application, with one that the application has yet to get, and never after the application's lifetime.
func TestExpectedEndOfMaster(t *testing.T) {
	w := newWorld(t)
	left := func() int64 {
		app, a := w.app("app1")
		slot := w.p.st.Containers.Find(app, a.Attempt, a.MasterNumber)
		return (w.p.sched.Probe().EndOf(w.p.st.Containers.Get(slot)) - w.now + 500) / 1000
	}
	w.tellAll("conf queues=(a:100) a.user-limit-factor=10\nmode eager\nnode add n1 8G\n" +
		"app app1 am=1G on=n1 lifetime=100 timeout=170")
	for _, s := range []struct {
		when, text string
		want       int64 // seconds from now
	}{
		{"it has no container", "", 100},
		{"it has one", "ask app1 1x1G@1", 100},
		{"its container is older", "wait 60\nhb n1", 40},
		{"it waits for another one", "ask app1 1x8G@2", 100},
		{"it waits no longer", "ask app1 0x8G@2", 40},
		{"its container has ended", "complete app1 2", 100},
		{"its lifetime is nearly over", "wait 100\nhb n1", 10},
	} {
		w.tellAll(s.text)
		if got := left(); got != s.want {
			t.Errorf("%s: its AM is expected to end in %d s, want %d s", s.when, got, s.want)
		}
	}
}
