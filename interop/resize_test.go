//go:build interop

package interop

import (
	"strings"
	"testing"
	"time"

	"rmd/interop/harness"
)

// TestResize changes the size of a container that runs on a real NodeManager. What
// its ApplicationMaster is told is what the Java ResourceManager says, word for
// word. An increase that has to wait for room reserves it, and outlives leaders.
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

// resize returns what the ApplicationMaster of one cluster wrote down.
func resize(t *testing.T, kind harness.Kind) string {
	c := harness.Start(t, harness.Options{Kind: kind})
	m := c.StartJava("resize", "default", "rmd.interop.Resize")
	m.Await("waiting", 1, 2*time.Minute)
	// Wherever they come to be, both nodes together have 2,304 MB left, as much as is missing, and the container's own has less.
	filler := c.StartShell(harness.Shell{Name: "filler", Queue: "batch", Containers: 3, MB: 1536, Command: "sleep", Args: "600", Within: 10 * time.Minute})
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
