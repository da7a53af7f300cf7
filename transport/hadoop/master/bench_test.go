package master

import (
	"testing"

	gproto "google.golang.org/protobuf/proto"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// still serves one fixed state, so that a benchmark measures only this package.
type still struct {
	*replica
	st *state.State
}

func (s still) Fork() *state.State { return s.st }

func benchAllocate(b *testing.B, granted int) {
	w := newWorld(b)
	w.node("n1", 1<<20, 10_000)
	r := w.replica()
	a := r.am(w.app())
	a.register()
	var reply *input.AllocateReply
	w.before = func(in input.Input) input.Reply {
		if reply == nil {
			got, _ := w.p.Plan(w.now, input.Request{Input: in})
			reply = got.(*input.AllocateReply)
			return reply
		}
		reply.Response++ // every answer has a new response id
		return reply
	}
	given := a.allocate(asks(ask("*", int32(max(granted, 1)), 1024)))
	reply.Granted = reply.Granted[:granted]
	r.cfg.Reader = still{r, w.st().Fork()}
	b.ReportMetric(float64(gproto.Size(given)), "B/response")
	req, call := asks(ask("*", 0, 1024)), a.call()
	req.ResponseId = new(a.last)
	b.ReportAllocs()
	body, err := gproto.Marshal(req)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := a.Service.allocate(ctx, call, body); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAllocateIdle measures an idle heartbeat. Most of its few microseconds are spent on the
// caller's identifier.
func BenchmarkAllocateIdle(b *testing.B) { benchAllocate(b, 0) }

// BenchmarkAllocateOne measures a heartbeat that returns one container. Budget: 10 µs.
func BenchmarkAllocateOne(b *testing.B) { benchAllocate(b, 1) }

// BenchmarkAllocateHundred measures a heartbeat that returns a hundred containers.
func BenchmarkAllocateHundred(b *testing.B) { benchAllocate(b, 100) }

// BenchmarkPassword measures Password, which runs once per connection.
func BenchmarkPassword(b *testing.B) {
	w := newWorld(b)
	r := w.replica()
	a := r.am(w.app())
	r.cfg.Reader = still{r, w.st().Fork()}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := a.password(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNews measures the search for node updates for one attempt, in a cluster of 10,000 nodes.
func BenchmarkNews(b *testing.B) {
	w := newWorld(b)
	for i := range 10_000 {
		w.node(string(rune('a'+i%26))+yarn.NodeID{Port: uint16(i)}.String(), 1024, 1)
	}
	r := w.replica()
	r.nodes.look(w.st())
	b.ReportAllocs()
	for b.Loop() {
		r.nodes.changes-- // as if a node had changed
		if nodes, _ := r.nodes.after(w.st(), 0); len(nodes) != 0 {
			b.Fatal("told of nodes that have not changed")
		}
	}
}
