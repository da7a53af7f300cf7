package renewer

import (
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/fsm/apptoken"
	"rmd/fsm/event"
	"rmd/fsm/state"
)

// BenchmarkLook looks at 10,000 tokens of ten services that are all due, while each service has had
// its calls of this second. The renewer does so at most once in a Pause. The share of a core that it
// takes is the metric cores.
func BenchmarkLook(b *testing.B) {
	const tokens, services = 10_000, 10
	st := state.New()
	for n := range uint32(tokens) {
		of := event.AppToken{Kind: apptoken.KindHDFS, Service: fmt.Sprint("nn", n%services), Identifier: fmt.Append(nil, n),
			MaxMillis: 7 * 86_400_000}
		for _, e := range []event.Event{&event.TokensAdded{App: n + 1, Tokens: []event.AppToken{of}},
			&event.TokenRenewed{Token: n + 1, EndMillis: 86_400_000, NextMillis: int64(n)}} {
			if _, why := st.AppTokens.Apply(e, 1, func(uint32) bool { return true }); why != "" {
				b.Fatal(why)
			}
		}
	}
	now := time.UnixMilli(tokens)
	cfg := Config{Logger: hclog.NewNullLogger(), Submitter: &cluster{}, Reader: fixed{&cluster{}, st}, Services: &nameNode{},
		Final: func(error) bool { return false }}
	cfg.Defaults()
	cfg.Policy.ThreadsMax, cfg.Now = services*cfg.PerSecond, func() time.Time { return now }
	r, err := New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	for n := range services {
		r.next[fmt.Sprint("nn", n)] = now.Add(time.Second)
	}
	b.ReportAllocs()
	for b.Loop() {
		if next := r.look(b.Context()); next != time.Second {
			b.Fatalf("the next look is in %s, want 1s", next)
		}
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(cfg.Pause), "cores")
}

// fixed is a cluster whose state stays the same.
type fixed struct {
	*cluster
	st *state.State
}

func (f fixed) Fork() *state.State { return f.st }
