//go:build interop

package interop

import (
	"strings"
	"testing"
	"time"

	"rmd/interop/harness"
)

// TestKillInEachState kills applications in every state of their life.
func TestKillInEachState(t *testing.T) {
	c := harness.Start(t, harness.Options{Kind: harness.DefaultKind()})
	running := c.StartMaster("running", "default", "idle", 256, 1, time.Second)
	ended := c.StartMaster("ended", "default", "idle", 256, 1, time.Second)
	lingering := c.StartMaster("lingering", "batch", "linger", 256, 1, time.Second)
	launched := c.Submit("launched", "batch", 256, 2, "sleep 600")
	for _, m := range []*harness.Master{running, ended, lingering} {
		m.Await("registered", 1, time.Minute)
	}
	ended.Finish()
	lingering.Finish()
	c.AwaitState(ended.App, "FINISHED", time.Minute)
	lingering.Await("finished", 1, time.Minute)
	harness.Await(t, "the launched master runs", time.Minute, func() bool { return len(processes(c, launched)) > 0 })
	// All other applications use less than a whole node.
	waiting := c.Submit("waiting", "default", c.NodeMB, 2, "sleep 600")
	room := c.AwaitApp(waiting, "waiting for room", time.Minute, func(a harness.App) bool { return a.State == "ACCEPTED" })
	if room.Containers != 0 {
		t.Fatalf("%+v has a container already", room)
	}
	never := running.App[:strings.LastIndexByte(running.App, '_')] + "_9999"

	results := c.Batch("application -kill "+waiting, "application -kill "+launched, "application -kill "+running.App,
		"application -kill "+lingering.App, "application -kill "+ended.App, "application -kill "+running.App,
		"application -kill "+never)
	for i, want := range []struct {
		id, says, state string
		code            int
	}{
		{waiting, "Killing application " + waiting, "KILLED", 0},
		{launched, "Killing application " + launched, "KILLED", 0},
		{running.App, "Killing application " + running.App, "KILLED", 0},
		{lingering.App, lingering.App + " has already finished", "FINISHED", 0},
		{ended.App, ended.App + " has already finished", "FINISHED", 0},
		{running.App, running.App + " has already finished", "KILLED", 0},
		{never, "doesn't exist in RM", "", 255},
	} {
		r := results[i]
		if r.Code != want.code || !strings.Contains(r.Text(), want.says) {
			t.Errorf("%v: exit %d, want %d and %q:\n%s", r.Args, r.Code, want.code, want.says, r.Text())
		}
		if want.state != "" {
			c.AwaitState(want.id, want.state, time.Minute)
		}
	}
	for _, id := range []string{waiting, launched, running.App} {
		harness.Await(t, "nothing of "+id+" runs", time.Minute, func() bool { return len(processes(c, id)) == 0 })
	}
	lingering.Exit()
	harness.Await(t, "nothing lingers", time.Minute, func() bool { return len(processes(c, lingering.App)) == 0 })
}

// processes returns the processes of an application's containers.
func processes(c *harness.Cluster, app string) []int {
	return c.Containers(strings.TrimPrefix(app, "application") + "_")
}
