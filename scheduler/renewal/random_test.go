package renewal

import (
	"math/rand/v2"
	"testing"

	"rmd/fsm/apptoken"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// randomLife lets applications come, wait, run and end, and services answer, fail and be silent. A
// failover is a state that is built again.
func randomLife(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	w := newWorld(t)
	var running []uint32
	for range 300 {
		switch r.IntN(8) {
		case 0, 1:
			if len(running) < 6 {
				var list []input.AppToken
				for range r.IntN(3) {
					list = append(list, hdfs(r.IntN(4)))
				}
				running = append(running, w.submit(input.AppTokens{List: list, Keep: r.IntN(4) == 0, Fetch: len(list) == 0,
					DelayMillis: int64(r.IntN(2)) * hour}))
			}
		case 2:
			if len(running) > 0 {
				i := r.IntN(len(running))
				if w.failed[running[i]] == "" {
					w.end(running[i])
				}
				running = append(running[:i], running[i+1:]...)
			}
		case 3:
			w.pass(r.Int64N(2 * hour))
		case 4:
			w.st = w.st.Fork()
		default:
			w.serve(r)
		}
		w.invariants()
	}
}

// serve answers the call of one token that is due, or gets tokens for an application.
func (w *world) serve(r *rand.Rand) {
	for h := range w.st.AppTokens.Holders() {
		if h.FetchMillis != 0 && h.FetchMillis <= w.now {
			id := yarn.ApplicationID{ClusterTimestamp: 77, Seq: h.App}
			if r.IntN(2) == 0 {
				w.do(&input.TokenFetchFailed{App: id, AgainMillis: second, Why: "no"})
			} else {
				w.do(&input.TokensFetched{App: id, List: []input.AppToken{hdfs(10 + r.IntN(3))}, Credentials: []byte("HDTS")})
			}
			return
		}
	}
	for t := range w.st.AppTokens.Tokens() {
		if t.NextMillis > w.now || t.Phase == apptoken.Lost {
			continue
		}
		switch n := r.IntN(6); {
		case n == 0:
			w.fail(t.Number, true)
		case n < 3:
			w.fail(t.Number, false)
		case t.Phase == apptoken.Ending:
			w.do(&input.TokenCancelled{Token: t.Number})
		case n == 3 && t.Phase == apptoken.Kept:
			w.do(&input.TokensFetched{Token: t.Number, List: []input.AppToken{hdfs(20 + r.IntN(3))},
				Credentials: []byte("HDTS")})
		default:
			w.renew(t.Number, 1+r.Int64N(day))
		}
		return
	}
}

// invariants checks that an application runs if and only if it waits for nothing, and that tokens
// are cancelled at most once and only after the last application.
func (w *world) invariants() {
	w.Helper()
	w.st.Apps.Each(func(_ state.AppSlot, a *state.App) bool {
		waits := w.st.AppTokens.Waits(a.ID.Seq)
		if !a.State.Ended() && waits == w.started[a.ID.Seq] {
			w.Fatalf("application %d waits %v and was started %v", a.ID.Seq, waits, w.started[a.ID.Seq])
		}
		return true
	})
	for n, times := range w.calls {
		if times > 1 {
			w.Fatalf("token %d is removed after %d cancellations", n, times)
		}
	}
	for t := range w.st.AppTokens.Tokens() {
		if t.Phase == apptoken.Kept && t.NextMillis > t.EndMillis {
			w.Fatalf("%v is renewed at %d, after its end %d", t, t.NextMillis, t.EndMillis)
		}
	}
}
