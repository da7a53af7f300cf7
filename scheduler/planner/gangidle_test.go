package planner

import (
	"math/rand/v2"
	"slices"
	"testing"

	"rmd/fsm/state"
	"rmd/yarn"
)

// idleDay is a workload of single small containers and of jobs. A job can only work when all its
// containers have started.
type idleDay struct {
	seconds int64
	small   []arrival
	jobs    []arrival
}

// arrival is a job or a small container: when it arrives and how long it works, in seconds.
type arrival struct {
	at, works int64
	count     int
}

const (
	idleNodes    = 8
	idleMemoryMB = 16 << 10
	smallMB      = 2 << 10
	memberMB     = 4 << 10
)

// drawDay draws a workload that needs about 85 % of the cluster. Small containers need 60 % of it.
func drawDay(seed uint64, seconds int64) *idleDay {
	rng := rand.New(rand.NewPCG(seed, 24))
	d := &idleDay{seconds: seconds}
	for at := int64(0); at < seconds; at++ {
		if rng.IntN(100) < 19 {
			d.small = append(d.small, arrival{at, 30 + rng.Int64N(341), 1})
		}
		if rng.IntN(300) == 0 {
			d.jobs = append(d.jobs, arrival{at, 100 + rng.Int64N(401), 4 + rng.IntN(9)})
		}
	}
	return d
}

// idleCost sums the idle and the working memory of a workload, in MB × seconds, and lists the
// waiting times, in seconds.
type idleCost struct {
	idle, worked         int64
	jobWaits, smallWaits []int64
}

// idlePlay is the run of a workload on a floor.
type idlePlay struct {
	*idleDay
	f     *floor
	gangs bool
	cost  idleCost
	small *work
	ends  []int64 // end of each container in small.has
	jobs  []*idleJob
}

type idleJob struct {
	*work
	arrival
	ends int64 // 0: it has not started
}

// play runs a workload. With gangs, the containers of a job start together, else one after the
// other.
func (d *idleDay) play(tb testing.TB, gangs bool) idleCost {
	p := &idlePlay{idleDay: d, f: newFloor(tb, idleNodes, idleMemoryMB), gangs: gangs}
	p.small = p.f.start("root.a", "", 0, yarn.NewResource(smallMB, 1))
	for now, nextSmall, nextJob := int64(0), 0, 0; now < d.seconds || len(p.jobs) > 0; now++ {
		if now > 2*d.seconds {
			tb.Fatalf("%d jobs do not start", len(p.jobs))
		}
		for ; nextSmall < len(d.small) && d.small[nextSmall].at <= now; nextSmall++ {
			p.small.want++
			p.small.ask()
		}
		for ; nextJob < len(d.jobs) && d.jobs[nextJob].at <= now; nextJob++ {
			p.begin(d.jobs[nextJob])
		}
		p.f.pass(1000)
		p.serveSmall(now)
		p.serveJobs(now)
		p.measure()
	}
	return p.cost
}

func (p *idlePlay) begin(a arrival) {
	g := yarn.Gang{Priority: 1, AnyRequest: true, Count: int64(a.count)}
	text := g.String()
	if !p.gangs {
		text = ""
	}
	p.jobs = append(p.jobs, &idleJob{work: p.f.start("root.b", text, a.count, yarn.NewResource(memberMB, 1)), arrival: a})
}

// serveSmall releases small containers that are done and starts those that were granted.
func (p *idlePlay) serveSmall(now int64) {
	p.small.poll()
	p.begun(now)
	for i := len(p.ends) - 1; i >= 0; i-- {
		if p.ends[i] <= now {
			p.small.has[0], p.small.has[i] = p.small.has[i], p.small.has[0]
			p.ends[i] = p.ends[0]
			p.ends = p.ends[1:]
			p.small.giveBack(1)
			p.begun(now)
			i = len(p.ends)
		}
	}
}

func (p *idlePlay) begun(now int64) {
	for len(p.ends) < len(p.small.has) {
		a := p.idleDay.small[len(p.cost.smallWaits)]
		p.ends = append(p.ends, now+a.works)
		p.cost.smallWaits = append(p.cost.smallWaits, now-a.at)
	}
}

func (p *idlePlay) serveJobs(now int64) {
	for _, j := range p.jobs {
		j.poll()
		switch {
		case len(j.has) < j.count:
		case j.ends == 0:
			j.ends = now + j.works
			p.cost.jobWaits = append(p.cost.jobWaits, now-j.at)
		case j.ends <= now:
			j.finish()
		}
	}
	p.jobs = slices.DeleteFunc(p.jobs, func(
		j *idleJob) bool {
		return j.ends != 0 && j.ends <= now && len(j.has) == j.count
	})
}

// measure adds the memory that one second holds idle: the containers of jobs that wait for more
// containers, and the free room of reserved nodes.
func (p *idlePlay) measure() {
	for _, j := range p.jobs {
		held := int64(len(j.has)) * memberMB
		if j.ends == 0 {
			p.cost.idle += held
		} else {
			p.cost.worked += held
		}
	}
	p.f.p.st.Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool {
		if n.Reservation != 0 {
			p.cost.idle += n.Unallocated()[yarn.Memory]
		}
		return true
	})
}

// TestGangIdleMemory checks that a workload holds at most a fifth as much memory idle if its jobs
// are gangs as if their containers start one after the other. It plays one workload of 6 hours.
// RMD_GANG_HOURS sets the hours, RMD_GANG_DAYS the number of workloads.
func TestGangIdleMemory(t *testing.T) {
	hours := int64(amount(t, "RMD_GANG_HOURS", 6))
	var one, together idleCost
	for seed := range amount(t, "RMD_GANG_DAYS", 1) {
		day := drawDay(uint64(seed+1), 3600*hours)
		was, is := day.play(t, false), day.play(t, true)
		t.Logf("workload %d: gangs hold %.1f %% as much idle", seed+1, 100*float64(is.idle)/float64(was.idle))
		if 5*is.idle > was.idle || was.worked != is.worked {
			t.Errorf("as gangs %d MB·s are held idle, one by one %d; they worked %d and %d", is.idle, was.idle,
				is.worked, was.worked)
		}
		one.add(&was)
		together.add(&is)
	}
	for _, c := range []struct {
		how string
		idleCost
	}{{"one by one", one}, {"as gangs", together}} {
		t.Logf("%-10s: %6.1f GB-hours held idle, %6.1f worked; %d jobs waited %d s, %d small containers %d s (mean)", c.how,
			float64(c.idle)/1024/3600, float64(c.worked)/1024/3600, len(c.jobWaits), mean(c.jobWaits), len(c.smallWaits),
			mean(c.smallWaits))
	}
	t.Logf("gangs hold %.1f %% of it", 100*float64(together.idle)/float64(one.idle))
}

func (c *idleCost) add(day *idleCost) {
	c.idle, c.worked = c.idle+day.idle, c.worked+day.worked
	c.jobWaits, c.smallWaits = append(c.jobWaits, day.jobWaits...), append(c.smallWaits, day.smallWaits...)
}

func mean(all []int64) (sum int64) {
	for _, v := range all {
		sum += v
	}
	return sum / int64(max(1, len(all)))
}
