package mixed

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"rmd/workload/trace"
)

func take(g *Generator, until time.Duration) []trace.Job {
	var out []trace.Job
	for {
		job := g.Next()
		if job.Submit >= until {
			return out
		}
		out = append(out, job)
	}
}

func TestSameSeedSameJobs(t *testing.T) {
	a, b := take(New(7, 4), 2*time.Minute), take(New(7, 4), 2*time.Minute)
	if !reflect.DeepEqual(a, b) {
		t.Fatal("one seed gave two workloads")
	}
	if reflect.DeepEqual(a, take(New(8, 4), 2*time.Minute)) {
		t.Fatal("two seeds gave one workload")
	}
}

func TestGeneratedJobsValid(t *testing.T) {
	for _, nodes := range []int{1, 4, 100} {
		g := New(3, nodes)
		queues, users, names := map[string]int{}, map[string]int{}, map[string]bool{}
		before := time.Duration(0)
		for range 5000 {
			job := g.Next()
			if job.Submit < before {
				t.Fatalf("%s is submitted at %v, after one at %v", job.Name, job.Submit, before)
			}
			before = job.Submit
			queues[job.Queue]++
			users[job.User]++
			names[job.Name] = true
			for i, task := range job.Tasks {
				if task.Count < 1 || task.MemoryMB < 1024 || task.MemoryMB > NodeMemoryMB-16*1024 || task.VCores < 1 ||
					task.VCores > NodeVCores-8 || task.GPUs < 0 || task.GPUs > NodeGPUs || task.After >= i {
					t.Fatalf("%s asks for %+v", job.Name, task)
				}
				least, most := smallLeast, smallMost
				if task.GPUs >= NodeGPUs/2 {
					least, most = largeLeast, largeMost
				}
				if s := task.Duration.Seconds(); s < least-0.001 || s > most {
					t.Fatalf("%s runs %v: %+v", job.Name, task.Duration, task)
				}
			}
		}
		if len(names) != 5000 || len(users) != 8 || len(queues) != len(Queues()) {
			t.Errorf("%d names, %d users, queues %v", len(names), len(users), queues)
		}
		for _, q := range Queues() {
			if queues[q] < 100 {
				t.Errorf("%s gets %d of 5000 jobs on %d nodes", q, queues[q], nodes)
			}
		}
	}
}

// TestOfferedLoad checks that the workload requests 55 to 65 % of the GPU time, half of it in large
// containers, for every size of the cluster and every time scale. It must request less of the other
// resources, so that the cluster is fragmented rather than full.
func TestOfferedLoad(t *testing.T) {
	for _, c := range []Config{
		{Seed: 1, Nodes: 4, Load: 0.6, TimeScale: 1},
		{Seed: 2, Nodes: 10, Load: 0.6, TimeScale: 1},
		{Seed: 3, Nodes: 200, Load: 0.6, TimeScale: 1},
		{Seed: 4, Nodes: 4, Load: 0.6, TimeScale: 10},
	} {
		g, err := NewWith(c)
		if err != nil {
			t.Fatal(err)
		}
		const seconds = 20000
		span := seconds * c.TimeScale
		var gpu, large, cores, memory float64
		jobs := 0
		for _, job := range take(g, time.Duration(span*float64(time.Second))) {
			jobs++
			for _, task := range job.Tasks {
				s := float64(task.Count) * task.Duration.Seconds()
				gpu += s * float64(task.GPUs)
				cores += s * float64(task.VCores)
				memory += s * float64(task.MemoryMB)
				if task.GPUs >= NodeGPUs/2 {
					large += s * float64(task.GPUs)
				}
			}
		}
		share := func(x, of float64) float64 { return x / of / float64(c.Nodes) / span }
		g1, c1, m1 := share(gpu, NodeGPUs), share(cores, NodeVCores), share(memory, NodeMemoryMB)
		t.Logf("%d nodes: %.3f GPU (%.2f large), %.3f cores, %.3f memory, %.2f jobs/s", c.Nodes, g1, large/gpu, c1, m1,
			float64(jobs)/span)
		if g1 < 0.55 || g1 > 0.65 || math.Abs(large/gpu-0.5) > 0.05 || c1 > 0.65 || c1 < 0.4 || m1 > 0.65 || m1 < 0.4 {
			t.Errorf("%+v: offered %.3f GPU (%.2f large), %.3f cores, %.3f memory", c, g1, large/gpu, c1, m1)
		}
		if rate := float64(jobs) / span * c.TimeScale; rate > 40 {
			t.Errorf("%.1f jobs a second on %d nodes", rate, c.Nodes)
		}
	}
}

func TestTimeScaleStretchesEverything(t *testing.T) {
	cfg := DefaultConfig()
	plain, _ := NewWith(cfg)
	cfg.TimeScale = 2
	slow, _ := NewWith(cfg)
	for range 200 {
		a, b := plain.Next(), slow.Next()
		if d := b.Submit - 2*a.Submit; d < -300*time.Millisecond || d > 300*time.Millisecond {
			t.Fatalf("%s at %v and %v", a.Name, a.Submit, b.Submit)
		}
		if d := b.Tasks[0].Duration - 2*a.Tasks[0].Duration; d < -2*time.Millisecond || d > 2*time.Millisecond {
			t.Fatalf("%s runs %v and %v", a.Name, a.Tasks[0].Duration, b.Tasks[0].Duration)
		}
	}
}

func TestNodes(t *testing.T) {
	nodes := Nodes(21)
	if len(nodes) != 21 || nodes[0].Name != "sim-01" || nodes[19].Rack != "/rack-1" || nodes[20].Rack != "/rack-2" ||
		nodes[20].Name != "sim-21" {
		t.Errorf("Nodes(21): %d nodes, want 21, sim-01 to sim-21, the twentieth on /rack-1, the last on /rack-2; got %+v",
			len(nodes), nodes)
	}
	if Nodes(0) == nil || len(Nodes(-1)) != 0 {
		t.Error("no nodes are an empty list")
	}
}

func TestConfigValidate(t *testing.T) {
	for _, c := range []Config{{}, {Nodes: 4, Load: 0.6}, {Nodes: 4, TimeScale: 1},
		{Nodes: 4, Load: math.NaN(), TimeScale: 1}} {
		if c.Validate() == nil {
			t.Errorf("%+v is accepted", c)
		}
		if g, err := NewWith(c); g != nil || err == nil {
			t.Errorf("%+v makes a generator", c)
		}
	}
}

// TestReservationsShowWithinTenSeconds runs the workload with a model of a scheduler: first come
// first served, with the emptiest node first. Containers that do not fit are skipped. A large
// container that does not fit reserves the emptiest node, and one more for each second that it
// waits (YARN allows this for a starved ask as its re-reservations grow). When it is placed, its
// other reservations are cancelled.
func TestReservationsShowWithinTenSeconds(t *testing.T) {
	for _, nodes := range []int{3, 4, 6, 10, 30} {
		for seed := range int64(5) {
			m := &model{free: slices.Repeat([]int64{NodeGPUs}, nodes), held: make([]*waiting, nodes)}
			m.run(take(New(seed, nodes), 10*time.Second), 10*time.Second)
			if m.made == 0 || m.fulfilled == 0 || m.cancelled == 0 {
				t.Errorf("%d nodes, seed %d: %d reservations made, %d fulfilled, %d cancelled", nodes, seed, m.made,
					m.fulfilled, m.cancelled)
			}
		}
	}
}

type waiting struct {
	gpus    int64
	runs    time.Duration
	since   time.Duration
	reserve bool
}

type model struct {
	free                       []int64
	held                       []*waiting
	queue                      []*waiting
	ends                       []ending
	made, fulfilled, cancelled int
}

type ending struct {
	at   time.Duration
	node int
	gpus int64
}

func (m *model) run(jobs []trace.Job, until time.Duration) {
	for now := time.Duration(0); now < until; now += 50 * time.Millisecond {
		for len(jobs) > 0 && jobs[0].Submit <= now {
			for _, task := range jobs[0].Tasks {
				for range task.Count {
					m.queue = append(m.queue, &waiting{task.GPUs, task.Duration, now, task.GPUs >= NodeGPUs/2})
				}
			}
			jobs = jobs[1:]
		}
		m.ends = slices.DeleteFunc(m.ends, func(e ending) bool {
			if e.at <= now {
				m.free[e.node] += e.gpus
			}
			return e.at <= now
		})
		m.queue = slices.DeleteFunc(m.queue, func(w *waiting) bool { return m.place(w, now) })
	}
}

// place places w on a node, or reserves a node for it.
func (m *model) place(w *waiting, now time.Duration) bool {
	open, own, holds := -1, -1, 0 // the emptiest node without a reservation, and the emptiest that w has reserved
	for n := range m.free {
		switch {
		case m.held[n] == w:
			holds++
			if own < 0 || m.free[n] > m.free[own] {
				own = n
			}
		case m.held[n] == nil && (open < 0 || m.free[n] > m.free[open]):
			open = n
		}
	}
	at := -1
	if own >= 0 && m.free[own] >= w.gpus {
		at = own
		m.fulfilled++
		holds--
	} else if open >= 0 && m.free[open] >= w.gpus {
		at = open
	}
	if at >= 0 {
		m.cancelled += holds
		for n := range m.held {
			if m.held[n] == w {
				m.held[n] = nil
			}
		}
		m.free[at] -= w.gpus
		m.ends = append(m.ends, ending{now + w.runs, at, w.gpus})
		return true
	}
	if w.reserve && open >= 0 && holds <= int((now-w.since)/time.Second) {
		m.held[open] = w
		m.made++
	}
	return false
}
