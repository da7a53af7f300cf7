package ledger

import (
	"strings"
	"testing"

	"rmd/fsm/event"
	"rmd/yarn"
)

func contains(text string) func(string) bool {
	return func(s string) bool { return strings.Contains(s, text) }
}

// BenchmarkEntry follows and decodes entries in which containers start and end on 200 nodes.
// Budget: 500,000 events per second, which is 2 µs per event.
func BenchmarkEntry(b *testing.B) {
	m := New()
	index := uint64(0)
	entry := func(events ...event.Event) []byte { return (&event.Batch{Level: 1, Events: events}).Encode() }
	add := func(data []byte) {
		index++
		if err := m.Entry(index, 1, data); err != nil {
			b.Fatal(err)
		}
	}
	add(entry(&event.ClusterInitialized{ClusterID: "c", ClusterTimestamp: 1}, configuration(1, "100")))
	for n := yarn.NodeSlot(1); n <= 200; n++ {
		add(entry(&event.NodeRegistered{Node: n, ID: yarn.NodeID{Host: "n", Port: uint16(n)}, Rack: "/r",
			Total: yarn.NewResource(65536, 64)}))
	}
	const apps = 100
	for a := uint32(1); a <= apps; a++ {
		add(entry(&event.ApplicationSubmitted{App: a, Queue: "root.a"}, &event.AttemptStarted{App: a, Attempt: 1},
			&event.AttemptActivated{App: a},
			&event.AttemptRegistered{App: a}, want(a, small, 1<<40)))
	}
	var lives [][]byte
	number := uint64(0)
	for range 1000 {
		number++
		for a := uint32(1); a <= apps; a += 10 {
			var events []event.Event
			for k := range uint32(10) {
				app := a + k
				events = append(events, give(app, number, yarn.NodeSlot(1+app%200)),
					&event.ContainerLaunched{Container: ref(app, number)},
					&event.ContainerCompleted{Container: ref(app, number)})
			}
			lives = append(lives, entry(events...))
		}
	}
	events := 0
	b.ReportAllocs()
	at := 0
	for b.Loop() {
		if at == len(lives) {
			b.StopTimer()
			for i := range m.apps.list { // the same ids are used again
				m.apps.list[i].containers, m.apps.list[i].lastNumber = nil, 0
			}
			at = 0
			b.StartTimer()
		}
		add(lives[at])
		at++
		events += 30
	}
	if v := m.Violations(); len(v) > 0 {
		b.Fatalf("the first of %d violations: %v", len(v), v[0])
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}
