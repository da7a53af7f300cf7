//go:build interop

package interop

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"rmd/interop/harness"
)

// reservation is what rmd says of one.
type reservation struct {
	ID        string `json:"id"`
	Node      string `json:"node"`
	App       string `json:"app"`
	Container string `json:"container"`
}

// TestReservationAcrossLeaders has a container too big for what is left of any
// node: a node is reserved for it. The reservation must outlive its leader, stay
// on its node, and become the container that it was made for. The Java
// ResourceManager would lose it, so there only its fulfillment is looked at.
func TestReservationAcrossLeaders(t *testing.T) {
	c := harness.Start(t, harness.Options{Kind: harness.DefaultKind()})
	// one on each node: they have 1,792 MB left at most, and more than 2,560 together
	var fillers [2]*harness.Running
	var small [2]string
	for i := range fillers {
		fillers[i] = c.StartShell(harness.Shell{Name: fmt.Sprintf("filler%d", i+1), Queue: "batch", Containers: 1, MB: 2304, Command: "sleep", Args: "600", Within: 10 * time.Minute})
		small[i] = c.Submitted(fillers[i])
		c.AwaitApp(small[i], "running its container", time.Minute, func(a harness.App) bool { return a.Containers == 2 })
	}
	bigger := c.StartShell(harness.Shell{Name: "big", MB: 2560, Command: "sleep", Args: "1", Within: 5 * time.Minute})
	big := c.Submitted(bigger)
	c.AwaitApp(big, "holding a reservation", time.Minute, func(a harness.App) bool { return a.ReservedMB == 2560 })
	var before reservation
	if c.Kind == harness.RMD {
		before = theReservation(t, c, big)
		for range 2 {
			lead := c.Active()
			lead.Kill()
			if now := theReservation(t, c, big); now != before {
				t.Fatalf("after %s was killed the reservation is %+v, it was %+v", lead.ID, now, before)
			}
			lead.Start()
			lead.AwaitReady()
		}
	}
	// room on the reserved node first: on another one the application would be served there, and the reservation cancelled
	first := 0
	for _, n := range c.Nodes {
		if n.ID() == before.Node && holds(n, small[1], 2) {
			first = 1
		}
	}
	succeeded(t, c.Yarn("application", "-kill", small[first]))
	succeeded(t, bigger.Wait(), "Application completed successfully")
	succeeded(t, c.Yarn("application", "-kill", small[1-first]))
	for _, f := range fillers {
		if r := f.Wait(); r.Code != 2 {
			t.Errorf("the client of a killed application ended with %s", r.Last())
		}
	}
	if c.Kind != harness.RMD {
		return
	}
	for _, n := range c.Nodes {
		ran := slices.Contains(n.Started(), before.Container)
		if ran != (n.ID() == before.Node) {
			t.Errorf("%s ran the container of %+v: %v", n.ID(), before, ran)
		}
	}
}

// holds says whether a node was told to start an application's container of a number.
func holds(n *harness.Node, app string, number int) bool {
	return slices.ContainsFunc(harness.Of(n.Started(), app), func(id string) bool { return strings.HasSuffix(id, fmt.Sprintf("_%06d", number)) })
}

// theReservation is the only one, and it is the application's.
func theReservation(t testing.TB, c *harness.Cluster, app string) reservation {
	t.Helper()
	var doc struct {
		All []reservation `json:"reservations"`
	}
	c.Read("/v1/reservations", &doc)
	if len(doc.All) != 1 || !strings.Contains(doc.All[0].App, app) {
		t.Fatalf("reservations: %+v, want one of %s", doc.All, app)
	}
	return doc.All[0]
}
