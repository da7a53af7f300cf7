package shadow

import (
	"errors"
	"fmt"
	"strings"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// Stretch is a part of the log, with the state before it.
type Stretch struct {
	State    *state.State // Preview does not change it
	Index    uint64       // index of the last entry that State includes
	Entries  []Entry
	ToMillis int64 // the end of the examined time
}

// Entry is an entry of the log.
type Entry struct {
	Index  uint64
	Events []event.Event // nobody may change them
}

// ErrStopped ends a preview when stop returns true.
var ErrStopped = errors.New("the preview was stopped")

// The properties that turn preemption on and off.
const (
	enableKey   = "yarn.resourcemanager.scheduler.monitor.enable"
	observeKey  = "yarn.resourcemanager.monitor.capacity.preemption.observe_only"
	selectorKey = capacity.Prefix + "preemption.selector"
)

// Preview estimates what preemption would have done in a stretch of the log. It replays the stretch
// without preemption and with each selector. A run whose decisions equal the cluster's is exact.
func Preview(s Stretch, o Options, stop func() bool) (*api.PreemptionPreview, error) {
	st := s.State
	if st.Versions.Current() == nil {
		return nil, input.NoFirstQueues()
	}
	d := &api.PreemptionPreview{FromMillis: st.Meta.NowMillis, ToMillis: s.ToMillis, FromIndex: s.Index + 1,
		ToIndex: s.Index + uint64(len(s.Entries)), Entries: len(s.Entries)}
	o.BehindMillis = max(s.ToMillis-st.Meta.NowMillis, 0) + 1 // so that everything in the stretch is known
	kinds := st.Versions.Kinds()
	for _, run := range []struct {
		name string
		keys map[string]string
	}{
		{api.PreviewOff, map[string]string{enableKey: "false"}},
		{api.PreviewPlanned, map[string]string{enableKey: "true", observeKey: "false", selectorKey: "planned"}},
		{api.PreviewYARN, map[string]string{enableKey: "true", observeKey: "false", selectorKey: "yarn"}},
	} {
		played, err := s.play(run.keys, o, stop)
		if err != nil {
			return nil, err
		}
		if len(d.Runs) == 0 && !played.allEqual() {
			d.Runs = append(d.Runs, figures(api.PreviewCluster, played, played.realMeter, s.ToMillis, kinds))
			d.Runs[0].Exact = true
		}
		d.Runs = append(d.Runs, figures(run.name, played, played.ownMeter, s.ToMillis, kinds))
	}
	d.Text = previewText(d)
	return d, nil
}

// allEqual reports whether the shadow has made all decisions of the cluster.
func (s *Shadow) allEqual() bool { return s.diverged == nil }

// play replays the stretch with some properties replaced.
func (s Stretch) play(keys map[string]string, o Options, stop func() bool) (*Shadow, error) {
	var properties []input.Property
	for _, p := range s.State.Versions.Current().Properties {
		if _, other := keys[p.Name]; !other {
			properties = append(properties, input.Property{Name: p.Name, Value: p.Value})
		}
	}
	for _, name := range sorted(keys) {
		properties = append(properties, input.Property{Name: name, Value: keys[name]})
	}
	run, _, err := New(s.State.Fork(), s.Index, properties, o)
	if err != nil {
		return nil, err
	}
	for _, e := range s.Entries {
		if stop() {
			return nil, ErrStopped
		}
		if err := run.Apply(e.Index, e.Events); err != nil {
			return nil, err
		}
	}
	if err := run.decideUntil(s.ToMillis); err != nil {
		return nil, err
	}
	for at := run.Now(); run.diverged != nil && at <= s.ToMillis; at += previewStep {
		if stop() {
			return nil, ErrStopped
		}
		if err := run.catchUp(min(at, s.ToMillis)); err != nil {
			return nil, err
		}
	}
	if run.diverged != nil {
		err = run.catchUp(s.ToMillis)
	}
	return run, err
}

// decideUntil makes a shadow in step decide what is due until a time without entries.
func (s *Shadow) decideUntil(to int64) error {
	if s.diverged != nil {
		return nil
	}
	return s.probe(to)
}

// previewStep is the replayed time between two calls of stop, in milliseconds.
const previewStep = 10_000

// figures returns the result of one side.
func figures(name string, s *Shadow, m *meter, to int64, kinds yarn.Kinds) api.PreviewRun {
	d := api.PreviewRun{Name: name, Exact: s.allEqual(), Lost: map[string]int64{}}
	if s.diverged != nil && m == s.ownMeter {
		d.KnownEnds, d.GuessedEnds, d.NotFollowed = s.diverged.known, s.diverged.guessed, s.diverged.left
	}
	owed, waiting := m.owedSoFar(to)
	var all delays
	for _, path := range sorted(m.queues) {
		q := m.queues[path]
		c := &q.cost
		d.Started += q.waits.count
		d.Warned, d.Withdrawn, d.Killed, d.AMs = d.Warned+c.warned, d.Withdrawn+c.withdrawn, d.Killed+c.killed, d.AMs+c.ams
		d.LostMillis += int64(c.lostMillis)
		for i, kind := range kinds {
			d.Lost[kind] += c.lost[i]
		}
		all.merge(owed[path])
		d.Waiting += waiting[path]
		d.Queues = append(d.Queues, api.PreviewQueue{Path: path, Killed: c.killed, LostMillis: int64(c.lostMillis),
			Owed: owed[path].document(), Waiting: waiting[path]})
	}
	d.Owed = all.document()
	return d
}

// merge adds other delays.
func (w *delays) merge(o *delays) {
	if o.count == 0 {
		return
	}
	w.count, w.sum, w.max = w.count+o.count, w.sum+o.sum, max(w.max, o.max)
	if w.buckets == nil {
		w.buckets = make([]int64, delayBuckets)
	}
	for i, n := range o.buckets {
		w.buckets[i] += n
	}
}

// previewText summarizes the runs in a few sentences.
func previewText(d *api.PreemptionPreview) string {
	run := func(name string) *api.PreviewRun {
		for i := range d.Runs {
			if d.Runs[i].Name == name {
				return &d.Runs[i]
			}
		}
		return &api.PreviewRun{}
	}
	off, planned, yarns := run(api.PreviewOff), run(api.PreviewPlanned), run(api.PreviewYARN)
	if off.Started == 0 && planned.Started == 0 {
		if real := run(api.PreviewCluster).Started; real > 0 {
			return fmt.Sprintf("The runs started no container, the cluster %d: the queues or nodes came only after the beginning "+
				"of this time, and the runs cannot follow that. Take a shorter time, which begins after them.", real)
		}
		return "No container started in this time."
	}
	text := fmt.Sprintf(
		"With preemption: %s killed, %s lost; queues under their guarantee wait %s for a container, without preemption %s.",
		containers(planned.Killed), describeLost(planned.Lost), span(planned.Owed.MeanMillis), span(off.Owed.MeanMillis))
	return text + fmt.Sprintf(" With YARN's selectors: %s killed, %s lost, %s.", containers(yarns.Killed),
		describeLost(yarns.Lost), span(yarns.Owed.MeanMillis))
}

func containers(n int64) string {
	if n == 1 {
		return "1 container"
	}
	return fmt.Sprintf("%d containers", n)
}

// describeLost describes lost work: resources such as GPUs if there are any, otherwise vcores and
// memory.
func describeLost(work map[string]int64) string {
	var parts []string
	if work[yarn.MemoryName] == 0 {
		return "nothing"
	}
	for _, kind := range sorted(work) {
		if kind == yarn.MemoryName || kind == yarn.VCoresName || work[kind] == 0 {
			continue
		}
		parts = append(parts, hours(float64(work[kind]), yarn.ShortKind(kind)))
	}
	if len(parts) == 0 {
		parts = []string{hours(float64(work[yarn.VCoresName]), "vcore"), hours(float64(work[yarn.MemoryName])/1024, "GiB")}
	}
	return strings.Join(parts, " and ")
}

func hours(seconds float64, kind string) string {
	return fmt.Sprintf("%.1f %s-hours", seconds/3600, kind)
}

// span formats a time: "45s", "3m20s", "2h05m".
func span(millis int64) string {
	switch s := (millis + 500) / 1000; {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	default:
		return fmt.Sprintf("%dh%02dm", s/3600, s%3600/60)
	}
}
