package shadow

import (
	"fmt"
	"slices"

	"rmd/api"
	"rmd/transport/http/view"
)

// Report compares the cluster and the shadow, from the start of the shadow until now.
func (s *Shadow) Report() *api.Shadow {
	cluster, own := s.Digests()
	d := &api.Shadow{State: api.ShadowInStep, Changes: view.Changes(s.changes), BeganMillis: s.began,
		AtMillis: s.realMeter.at, Index: s.index, Entries: s.entries,
		Decided: s.decided, ClusterDigest: fmt.Sprintf("%016x", cluster), Digest: fmt.Sprintf("%016x", own),
		Points: s.series.points()}
	d.Text = "In step: it has decided what the cluster has decided. The figures of both sides are the same, and none is an estimate."
	if s.diverged != nil {
		d.State, d.Divergence = api.ShadowApart, s.apart
		d.KnownEnds, d.GuessedEnds, d.NotFollowed, d.BehindMillis = s.diverged.known, s.diverged.guessed, s.diverged.left,
			max(s.ahead.Meta.NowMillis-s.diverged.Now, 0)
		d.Text = "Apart: it goes its own way since its first decision that differs. The figures of the shadow are estimates from then on."
	}
	paths := append(sorted(s.realMeter.queues), sorted(s.ownMeter.queues)...)
	slices.Sort(paths)
	paths = slices.Compact(paths)
	many := len(paths) > mostIdle
	realWaiting, ownWaiting := s.realMeter.waiting(), s.ownMeter.waiting()
	for _, path := range paths {
		q := api.ShadowQueue{Path: path, Cluster: s.realMeter.side(path, s.began), Shadow: s.ownMeter.side(path, s.began)}
		q.Cluster.Waiting, q.Shadow.Waiting = realWaiting[path], ownWaiting[path]
		if !many || !idle(&q.Cluster) || !idle(&q.Shadow) {
			d.Queues = append(d.Queues, q)
		}
	}
	return d
}

// mostIdle is the number of queues up to which a report also lists queues that did nothing.
const mostIdle = 1000

func idle(s *api.ShadowSide) bool {
	return s.Wanted == 0 && s.Used == 0 && s.Waits.Count == 0 && s.AMs.Count == 0 && s.Waiting == 0
}

// waiting counts the containers for which queues wait, by path.
func (m *meter) waiting() map[string]int64 {
	out, st := map[string]int64{}, m.sched.State
	for k, w := range m.asks { // the order does not matter: they are summed
		if slot := st.Apps.Find(k.app); slot != 0 && st.Apps.Get(slot).Queue != 0 {
			out[st.Queues.Get(st.Apps.Get(slot).Queue).Path] += w.left
		}
	}
	return out
}

// side returns the measurements of a queue. It does not set Waiting.
func (m *meter) side(path string, began int64) api.ShadowSide {
	t := m.queues[path]
	if t == nil {
		return api.ShadowSide{}
	}
	time := float64(max(m.at-began, 1))
	return api.ShadowSide{Waits: t.waits.document(), AMs: t.ams.document(), Preempted: t.preempted, Used: t.used / time,
		Guaranteed: t.guaranteed / time,
		Wanted:     t.wanted / time, Owed: t.owed / time, OwedTime: float64(t.owedMillis) / time}
}

func (w *delays) document() api.ShadowWaits {
	return api.ShadowWaits{Count: w.count, MeanMillis: w.sum / max(w.count, 1), P50Millis: w.quantile(0.5),
		P95Millis: w.quantile(0.95), MaxMillis: w.max}
}

// series has points at equal intervals, for up to mostQueues queues that have used something. When
// there are mostPoints points, every second one is dropped and the interval doubles.
type series struct {
	paths map[string]bool
	every int64
	next  int64
	began int64
	list  []snap
}

// snap has the totals of both sides at a time.
type snap struct {
	at        int64
	real, own map[string]mark
}

type mark struct {
	used    float64
	started int64
	waited  int64
}

const (
	firstEvery = 10_000
	mostPoints = 240
	mostQueues = 100 // the most queues that have points
)

func newSeries(began int64) series {
	return series{paths: map[string]bool{}, every: firstEvery, next: began + firstEvery, began: began}
}

func (s *series) add(now int64, real, own *meter) {
	if now < s.next {
		return
	}
	s.next = now + s.every
	s.choose(real)
	s.choose(own)
	s.list = append(s.list, snap{now, real.marks(s.paths), own.marks(s.paths)})
	if len(s.list) >= mostPoints {
		kept := s.list[:0]
		for i := 1; i < len(s.list); i += 2 {
			kept = append(kept, s.list[i])
		}
		clear(s.list[len(kept):])
		s.list, s.every = kept, 2*s.every
	}
}

// choose adds queues that have used something to those that have points.
func (s *series) choose(m *meter) {
	var more []string
	for path, t := range m.queues { // the order does not matter: they are sorted
		if path != api.ShadowRemoved && !s.paths[path] && (t.used > 0 || t.waits.count > 0) {
			more = append(more, path)
		}
	}
	slices.Sort(more)
	for _, path := range more[:min(len(more), mostQueues-len(s.paths))] {
		s.paths[path] = true
	}
}

func (m *meter) marks(paths map[string]bool) map[string]mark {
	out := make(map[string]mark, len(paths))
	for path := range paths { // the order does not matter
		if t := m.queues[path]; t != nil {
			out[path] = mark{t.used, t.waits.count, t.waits.sum}
		}
	}
	return out
}

func (s *series) points() (out []api.ShadowPoint) {
	before := snap{at: s.began}
	for _, x := range s.list {
		p := api.ShadowPoint{AtMillis: x.at, Queues: map[string]api.ShadowPointQueue{}}
		time := float64(max(x.at-before.at, 1))
		for _, path := range append(sorted(x.real), sorted(x.own)...) {
			var q api.ShadowPointQueue
			q.ClusterUsed, q.ClusterWait, q.ClusterStarts = between(before.real[path], x.real[path], time)
			q.ShadowUsed, q.ShadowWait, q.ShadowStarts = between(before.own[path], x.own[path], time)
			p.Queues[path] = q
		}
		out = append(out, p)
		before = x
	}
	return out
}

// between returns what was used between two marks, how many containers started, and their mean
// wait.
func between(a, b mark, time float64) (used, wait float64, starts int64) {
	if b.used < a.used || b.started < a.started {
		a = mark{} // the queue was removed, merged into the removed ones, and has returned
	}
	starts = b.started - a.started
	return (b.used - a.used) / time, float64(b.waited-a.waited) / float64(max(starts, 1)), starts
}
