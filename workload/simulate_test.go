package workload

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"rmd/scheduler/input"
	"rmd/workload/mixed"
	"rmd/workload/report"
	"rmd/workload/trace"
	"rmd/yarn"
)

func simConfig(f *fakeRM, nodes int, jobs []trace.Job) Config {
	cfg := DefaultConfig()
	cfg.Submitter, cfg.Nodes = f, mixed.Nodes(nodes)
	cfg.Jobs = slices.Values(jobs)
	return cfg
}

func mixedJobs(n int) []trace.Job {
	g := mixed.New(7, 4)
	jobs := make([]trace.Job, n)
	for i := range jobs {
		jobs[i] = g.Next()
	}
	return jobs
}

func containersOf(jobs []trace.Job) int {
	n := 0
	for _, j := range jobs {
		for _, t := range j.Tasks {
			n += t.Count
		}
	}
	return n
}

// checkAllRan checks that every container ran and was counted once, and that the cluster is empty.
func checkAllRan(t *testing.T, f *fakeRM, s *report.Summary, jobs []trace.Job) {
	t.Helper()
	want := containersOf(jobs)
	if got := s.Large.Containers + s.Small.Containers; got != want || s.Large.Unserved+s.Small.Unserved > 0 {
		t.Errorf("measured %d containers, %d unserved; want %d", got, s.Large.Unserved+s.Small.Unserved, want)
	}
	done := 0
	for _, a := range f.order {
		done += a.done
		if !a.ended || a.final != yarn.FinalSucceeded || len(a.live) > 0 {
			t.Errorf("%s: ended %v as %s with %d containers", a.id, a.ended, a.final, len(a.live))
		}
	}
	if done != want || len(f.order) != len(jobs) {
		t.Errorf("%d applications, %d containers; want %d, %d", len(f.order), done, len(jobs), want)
	}
	for _, n := range f.nodes {
		if n.free != n.total {
			t.Errorf("%s has %s of %s free at the end", n.id, n.free, n.total)
		}
	}
	for _, x := range f.faults {
		t.Error(x)
	}
}

func TestSimulateRunsEveryContainerOnce(t *testing.T) {
	for _, c := range []struct {
		name                      string
		eager, am, counts, phases bool
	}{{"eager", true, true, true, false}, {"heartbeat", false, true, true, false},
		{"no counter", true, true, false, false},
		{"unmanaged", true, false, true, false}, {"unmanaged without counter", false, false, false, false},
		{"phases", false, true, true, true}, {"phases without counter", false, false, false, true}} {
		t.Run(c.name, func(t *testing.T) {
			f, jobs := newFakeRM(), mixedJobs(300)
			f.eager = c.eager
			cfg := simConfig(f, 4, jobs)
			if cfg.AM = c.am; c.counts {
				cfg.Granted = func() uint64 { return f.granted }
			}
			if c.phases {
				cfg.Phases = []time.Duration{900 * time.Millisecond, 0, 1, 500 * time.Millisecond}
			}
			var last Progress
			cfg.OnProgress = func(p Progress) { last = p }
			s, err := Simulate(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			checkAllRan(t, f, s, jobs)
			if last.Finished != 300 || last.Waiting != 0 || last.Running != 0 || last.Surplus+last.Repeated+last.Lost != 0 {
				t.Errorf("last progress %+v", last)
			}
			if s.Utilization.GPUs <= 0.1 || s.Utilization.GPUs > 1 || s.Run.Apps != 300 {
				t.Errorf("utilization %+v, run %+v", s.Utilization, s.Run)
			}
		})
	}
}

func TestSimulateIsDeterministic(t *testing.T) {
	run := func() ([]string, *report.Summary) {
		f := newFakeRM()
		s, err := Simulate(t.Context(), simConfig(f, 4, mixedJobs(200)))
		if err != nil {
			t.Fatal(err)
		}
		s.Run.Elapsed = 0
		return f.inputs, s
	}
	i1, s1 := run()
	i2, s2 := run()
	if !slices.Equal(i1, i2) || !reflect.DeepEqual(s1, s2) {
		t.Errorf("two runs differ: %d and %d inputs\n%+v\n%+v", len(i1), len(i2), s1, s2)
	}
}

func TestSimulateWaits(t *testing.T) {
	// The node has room for one of two containers, so the second waits exactly for the run time of
	// the first.
	task := trace.TaskGroup{Count: 2, MemoryMB: 300_000, VCores: 10, Duration: 90 * time.Second, After: -1}
	f := newFakeRM()
	cfg := simConfig(f, 1, []trace.Job{{Name: "a", Queue: "root.q", Submit: 10 * time.Second,
		Tasks: []trace.TaskGroup{task}}})
	s, err := Simulate(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if s.Large.Containers != 2 || s.Large.MaxMillis < 90_000 || s.Large.MaxMillis > 92_000 {
		t.Errorf("waits %+v; want the longest about 90 s", s.Large)
	}
	if want := int64(10+90+90) * 1000; s.EndMillis < want || s.EndMillis > want+4000 {
		t.Errorf("end at %d ms; want soon after %d", s.EndMillis, want)
	}
}

func TestSimulateStages(t *testing.T) {
	// Reduces are requested when the maps are done, and the last group after its delay. Hosts are
	// requested by name.
	job := trace.Job{Name: "mr", Tasks: []trace.TaskGroup{
		{Count: 4, MemoryMB: 2048, VCores: 1, Durations: []time.Duration{time.Second, 2 * time.Second, 3 * time.Second,
			20 * time.Second},
			Hosts: []string{"sim-02", "sim-02", "sim-01", "nowhere"}, After: -1, Priority: 20},
		{Count: 1, MemoryMB: 2048, VCores: 1, Duration: 10 * time.Second, After: 0, Priority: 10},
		{Count: 1, MemoryMB: 2048, VCores: 1, Duration: time.Second, Delay: 100 * time.Second, After: 1},
	}}
	f := newFakeRM()
	f.eager = true
	s, err := Simulate(t.Context(), simConfig(f, 2, []trace.Job{job}))
	if err != nil {
		t.Fatal(err)
	}
	checkAllRan(t, f, s, []trace.Job{job})
	if want := int64(20+10+100+1) * 1000; s.EndMillis < want || s.EndMillis > want+5000 {
		t.Errorf("end at %d ms; want soon after %d", s.EndMillis, want)
	}
}

func TestSimulateEndsWhenNothingFits(t *testing.T) {
	big := trace.Job{Name: "big", Tasks: []trace.TaskGroup{
		{Count: 1, MemoryMB: 1 << 30, VCores: 1, Duration: time.Second, After: -1}}}
	small := trace.Job{Name: "small", Tasks: []trace.TaskGroup{
		{Count: 1, MemoryMB: 1024, VCores: 1, Duration: time.Second, After: -1}}}
	f := newFakeRM()
	cfg := simConfig(f, 1, []trace.Job{big, small})
	cfg.StallRounds = 50
	s, err := Simulate(t.Context(), cfg)
	if err != nil || s.Large.Unserved != 1 || s.Small.Containers != 1 || s.Small.Unserved != 0 {
		t.Errorf("error %v, large %+v, small %+v; want the large one unserved", err, s.Large, s.Small)
	}
}

type refusing struct{ *fakeRM }

func (r refusing) Do(ctx context.Context, in input.Input) (input.Reply, error) {
	switch in.(type) {
	case *input.SubmitApplication:
		return input.Refuse(in, input.Refusef(input.NoSuchQueue, "make it", "no queue")), nil
	case *input.RegisterAttempt:
		return nil, errors.New("broken")
	}
	return r.fakeRM.Do(ctx, in)
}

func TestSimulateTellsRefusals(t *testing.T) {
	f := newFakeRM()
	cfg := simConfig(f, 1, mixedJobs(3))
	cfg.Submitter = refusing{f}
	_, err := Simulate(t.Context(), cfg)
	var fault *input.Refusal
	if !errors.As(err, &fault) || fault.Reason != input.NoSuchQueue {
		t.Errorf("error %v; want the refusal", err)
	}
}

func TestSimulatePatienceSavesRounds(t *testing.T) {
	job := func(at time.Duration) trace.Job {
		return trace.Job{Submit: at, Name: "whole",
			Tasks: []trace.TaskGroup{{Count: 1, MemoryMB: mixed.NodeMemoryMB - 2048, VCores: 90,
				Duration: time.Hour, After: -1}}}
	}
	run := func(patience int) (int64, int64) {
		f := newFakeRM()
		cfg := simConfig(f, 1, []trace.Job{job(0), job(time.Second)})
		cfg.Patience = patience
		cfg.Granted = func() uint64 { return f.granted }
		var calls int64
		cfg.OnProgress = func(p Progress) { calls = p.Calls }
		s, err := Simulate(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		return calls, s.Large.MaxMillis
	}
	exact, wait := run(0)
	patient, wait2 := run(10)
	if exact < 3600 || patient > exact/10 || wait2 != wait {
		t.Errorf("calls %d and %d, waits %d and %d ms; want far fewer calls and the same wait", exact, patient, wait, wait2)
	}
}

// TestSimulateRounds checks that rounds take place at their times, and only while an application
// waits, and that the effect of a round is visible immediately, whatever Patience is.
func TestSimulateRounds(t *testing.T) {
	whole := trace.TaskGroup{Count: 1, MemoryMB: mixed.NodeMemoryMB - 2048, VCores: 90, Duration: time.Hour, After: -1}
	f := newFakeRM()
	cfg := simConfig(f, 1, []trace.Job{{Name: "first", Tasks: []trace.TaskGroup{whole}},
		{Submit: 30 * time.Minute, Name: "second", Tasks: []trace.TaskGroup{whole}}})
	cfg.Patience, cfg.RoundEvery = 10, 3*time.Second
	cfg.Granted = func() uint64 { return f.granted }
	var now, from, to time.Duration
	cfg.Advance = func(at time.Duration) {
		if at < now {
			t.Fatalf("back from %s to %s", now, at)
		}
		now = at
	}
	rounds := 0
	cfg.Round = func() bool {
		rounds++
		if from == 0 && now > time.Minute {
			from = now
		}
		if to = now; now%cfg.RoundEvery != 0 {
			t.Errorf("a round at %s", now)
		}
		if now == 45*time.Minute { // like a preemption
			for _, c := range f.order[0].live {
				if !c.am {
					c.node.kill = append(c.node.kill, c.id)
				}
			}
		}
		return now == 45*time.Minute
	}
	s, err := Simulate(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if from < 30*time.Minute || from > 30*time.Minute+3*time.Second || rounds < 300 {
		t.Errorf("%d rounds, of the second job from %s to %s", rounds, from, to)
	}
	if second := s.Large.P50Millis; second < (15*time.Minute).Milliseconds() ||
		second > (15*time.Minute+5*time.Second).Milliseconds() {
		t.Errorf("waits %+v; want the second job served when the first was preempted", s.Large)
	}
}

// timed records when nodes send heartbeats.
type timed struct {
	*fakeRM
	now   time.Duration
	beats map[string][]time.Duration
	order []string
}

func (r *timed) Do(ctx context.Context, in input.Input) (input.Reply, error) {
	if b, ok := in.(*input.NodeHeartbeat); ok {
		r.beats[b.ID.Host] = append(r.beats[b.ID.Host], r.now)
		r.order = append(r.order, b.ID.Host)
	}
	return r.fakeRM.Do(ctx, in)
}

// TestSimulatePhases lets a container wait that fits nowhere, so nodes send heartbeats in rounds
// alone. It checks that each does so at its phase, and as often as without phases.
func TestSimulatePhases(t *testing.T) {
	run := func(phases []time.Duration) *timed {
		big := trace.Job{Name: "big", Tasks: []trace.TaskGroup{
			{Count: 1, MemoryMB: 1 << 30, VCores: 1, Duration: time.Second, After: -1}}}
		r := &timed{fakeRM: newFakeRM(), beats: map[string][]time.Duration{}}
		cfg := simConfig(r.fakeRM, 3, []trace.Job{big})
		cfg.Submitter, cfg.AM, cfg.StallRounds, cfg.Phases = r, false, 10, phases
		cfg.Advance = func(to time.Duration) { r.now = to }
		if _, err := Simulate(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		return r
	}
	phases := []time.Duration{700 * time.Millisecond, 0, 300 * time.Millisecond}
	without, with := run(nil), run(phases)
	if got := without.order[:6]; !slices.Equal(got, []string{"sim-01", "sim-02", "sim-03", "sim-01", "sim-02", "sim-03"}) {
		t.Errorf("without phases, the order is %v", got)
	}
	if got := with.order[:6]; !slices.Equal(got, []string{"sim-02", "sim-03", "sim-01", "sim-02", "sim-03", "sim-01"}) {
		t.Errorf("with phases, the order is %v", got)
	}
	for i, host := range []string{"sim-01", "sim-02", "sim-03"} {
		if len(with.beats[host]) != len(without.beats[host]) || len(with.beats[host]) < 5 {
			t.Errorf("%s sends %d heartbeats, without phases %d", host, len(with.beats[host]), len(without.beats[host]))
		}
		for _, at := range with.beats[host] {
			if at%time.Second != phases[i] {
				t.Errorf("%s, whose phase is %s, sends a heartbeat at %s", host, phases[i], at)
			}
		}
	}
	cfg := simConfig(newFakeRM(), 3, nil)
	for _, wrong := range [][]time.Duration{{0, 0}, {0, 0, -1}, {0, 0, time.Second}} {
		if cfg.Phases = wrong; cfg.Validate() == nil {
			t.Errorf("phases %v of 3 nodes are valid", wrong)
		}
	}
}

func TestSimulateDay(t *testing.T) {
	g := mixed.DefaultConfig()
	g.TimeScale = 300
	gen, err := mixed.NewWith(g)
	if err != nil {
		t.Fatal(err)
	}
	jobs := make([]trace.Job, 1192)
	for i := range jobs {
		jobs[i] = gen.Next()
	}
	f := newFakeRM()
	f.eager = true
	cfg := simConfig(f, 4, jobs)
	cfg.Granted = func() uint64 { return f.granted }
	s, err := Simulate(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	checkAllRan(t, f, s, jobs)
	if s.EndMillis < (24 * time.Hour).Milliseconds() {
		t.Errorf("%s of virtual time; want a day and more", time.Duration(s.EndMillis)*time.Millisecond)
	}
}
