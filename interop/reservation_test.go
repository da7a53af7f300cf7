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

// reservation is a reservation in rmd's REST interface.
type reservation struct {
	ID        string `json:"id"`
	Node      string `json:"node"`
	App       string `json:"app"`
	Container string `json:"container"`
}

// TestReservationAcrossLeaders requests a container that is too large for the free part of any
// node, so the scheduler reserves a node. The reservation must survive changes of leader, stay on
// its node, and become its container. The Java ResourceManager would lose it, so with that the test
// checks only that the container runs in the end.
func TestReservationAcrossLeaders(t *testing.T) {
	// Two leaders end within one heartbeat of the nodes. With Hadoop's defaults a node that finds both
	// dead sleeps for up to 45 s. It is silent then, and a silent node loses its reservation.
	c := harness.Start(t, harness.Options{Kind: harness.DefaultKind(), Tuned: true})
	// One filler on each node. Each node has at most 1,792 MB left, both together more than 2,560
	// MB.
	var fillers [2]*harness.Running
	var small [2]string
	for i := range fillers {
		fillers[i] = c.StartShell(harness.Shell{Name: fmt.Sprintf("filler%d", i+1), Queue: "batch", Containers: 1, MB: 2304,
			Command: "sleep", Args: "600", Within: 10 * time.Minute})
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
	// Free the reserved node first. If another node had room, the application would get its
	// container there, and the reservation would be cancelled.
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

// holds reports whether a node was ordered to start the container with a number of an application.
func holds(n *harness.Node, app string, number int) bool {
	return slices.ContainsFunc(harness.Of(n.Started(), app),
		func(id string) bool { return strings.HasSuffix(id, fmt.Sprintf("_%06d", number)) })
}

// theReservation returns the only reservation, and checks that it belongs to the application.
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
