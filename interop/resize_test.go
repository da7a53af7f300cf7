//go:build interop

package interop

import (
	"strings"
	"testing"
	"time"

	"rmd/interop/harness"
)

// TestResize changes the size of a running container on a real NodeManager. The ApplicationMaster
// must get the same answers as from the Java ResourceManager, word for word. An increase without
// room must reserve the node, and survive changes of leader.
func TestResize(t *testing.T) {
	if harness.DefaultKind() != harness.RMD {
		t.Skip("it runs both kinds")
	}
	var said [2]string
	for i, kind := range []harness.Kind{harness.Java, harness.RMD} {
		t.Run(string(kind), func(t *testing.T) {
			said[i] = resize(t, kind)
			t.Logf("its ApplicationMaster was told:\n%s", said[i])
		})
	}
	if said[0] != said[1] {
		t.Errorf("what the ApplicationMaster was told, Java's on the left:\n%s", harness.Diff(said[0], said[1]))
	}
}

// resize returns the report of the ApplicationMaster on one kind of cluster.
func resize(t *testing.T, kind harness.Kind) string {
	c := harness.Start(t, harness.Options{Kind: kind})
	m := c.StartJava("resize", "default", "rmd.interop.Resize")
	m.Await("waiting", 1, 2*time.Minute)
	// Wherever these containers run, both nodes together have 2,304 MB left, which is exactly what
	// the increase needs, and the container's own node has less.
	filler := c.StartShell(harness.Shell{Name: "filler", Queue: "batch", Containers: 3, MB: 1536, Command: "sleep",
		Args: "600", Within: 10 * time.Minute})
	other := c.Submitted(filler)
	c.AwaitApp(other, "running its containers", time.Minute, func(a harness.App) bool { return a.Containers == 4 })
	m.Go()
	if kind == harness.RMD { // Java would lose the reservation
		c.AwaitApp(m.App, "holding a reservation", time.Minute, func(a harness.App) bool { return a.ReservedMB > 0 })
		lead := c.Active()
		lead.Kill()
		c.AwaitApp(m.App, "holding a reservation", time.Minute, func(a harness.App) bool { return a.ReservedMB > 0 })
		lead.Start()
		lead.AwaitReady()
	}
	succeeded(t, c.Yarn("application", "-kill", other))
	filler.Wait()
	harness.Await(t, "the increase that waited is there", time.Minute, func() bool {
		lines := m.Lines("said")
		return len(lines) > 0 && strings.HasPrefix(strings.Join(lines[len(lines)-1].Words, " "), "waited: its node")
	})
	if a := c.App(m.App); a.MB != 256+3072 {
		t.Errorf("the application has %d MB; expected %d", a.MB, 256+3072)
	}
	m.Finish()
	var out strings.Builder
	for _, l := range m.Lines("said") {
		out.WriteString(strings.Join(l.Words, " ") + "\n")
	}
	return out.String()
}
