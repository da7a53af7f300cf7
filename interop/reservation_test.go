//go:build interop

package interop

import (
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
// ResourceManager would lose it, so there only its fulfilment is looked at.
func TestReservationAcrossLeaders(t *testing.T) {
	c := harness.Start(t, harness.Options{Kind: harness.DefaultKind()})
	// one on each node: they have 1,792 MB left, and 3,328 together
	filler := c.StartShell(harness.Shell{Name: "filler", Queue: "batch", Containers: 2, MB: 2304, Command: "sleep", Args: "600", Within: 10 * time.Minute})
	small := c.Submitted(filler)
	c.AwaitApp(small, "running 2 containers", time.Minute, func(a harness.App) bool { return a.Containers == 3 })
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
	succeeded(t, c.Yarn("application", "-kill", small))
	succeeded(t, bigger.Wait(), "Application completed successfully")
	if r := filler.Wait(); r.Code != 2 {
		t.Errorf("the client of the killed application ended with %s", r.Last())
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
