package virtual

import (
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"rmd/yarn"
)

// defaultSeeds is how many seeds run without RMD_SIM_SEEDS.
const defaultSeeds = 8

// seeds are those to run.
func seeds() []int64 {
	if one, err := strconv.ParseInt(os.Getenv("RMD_SIM_SEED"), 10, 64); err == nil {
		return []int64{one}
	}
	n := defaultSeeds
	if v, err := strconv.Atoi(os.Getenv("RMD_SIM_SEEDS")); err == nil {
		n = v
	}
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(i + 1)
	}
	return out
}

// TestSeeds runs random load under random faults, then heals everything and waits
// until all work is done.
func TestSeeds(t *testing.T) {
	var all counts
	installs := 0
	for _, seed := range seeds() {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			n, i := runSeed(t, seed)
			t.Logf("%+v, %d snapshots sent", n, i)
			all.add(n)
			installs += i
		})
	}
	t.Logf("%+v, %d snapshots sent", all, installs)
	if len(seeds()) < defaultSeeds || t.Failed() {
		return
	}
	for what, n := range map[string]int{"leaders": all.terms - len(seeds()), "restores": all.restores, "unknown outcomes": all.unknown,
		"reservations": all.made, "fulfilments": all.fulfilled, "cancellations": all.cancelled, "lost containers": all.lost} {
		if n < 3 {
			t.Errorf("%d %s: does the simulation still meet what it is there for?", n, what)
		}
	}
}

// faultTime is how long faults are injected.
const faultTime = 60 * time.Second

// installsMax is more than any seed needs.
const installsMax = 60

// runSeed runs one seed.
func runSeed(t *testing.T, seed int64) (n counts, installs int) {
	synctest.Test(t, func(t *testing.T) {
		rng := rand.New(rand.NewSource(seed))
		w := newWorld(t, seed, drawOptions(rng))
		w.boot()
		l := newLoad(w, seed+20)
		l.begin(4, 4)
		d := newDriver(w, l, rng)
		for end := time.Now().Add(faultTime); time.Now().Before(end) && !w.check.broken(); {
			d.step()
		}
		if !w.check.broken() {
			d.settle()
		}
		l.stop()
		if w.check.broken() {
			w.stop()
		} else {
			w.finish()
		}
		if w.check.broken() {
			t.Errorf("seed %d, %+v:\n%s", seed, w.opt, w.check.report())
		}
		if installs := w.net.countInstalls(); installs > installsMax { // L4
			t.Errorf("seed %d: %d snapshots were sent: some follower is sent the same one for ever", seed, installs)
		}
		n, installs = w.check.counts, w.net.countInstalls()
	})
	return n, installs
}

func drawOptions(rng *rand.Rand) options {
	pick := func(list ...uint64) uint64 { return list[rng.Intn(len(list))] }
	opt := options{replicas: 3, eager: rng.Intn(2) == 0, dominant: rng.Intn(2) == 0, inFlight: 1 + rng.Intn(2),
		snapshotAfter: pick(7, 50, 500), trailing: pick(0, 1, 64, 10240), yields: rng.Intn(2) == 0, lazyCancel: rng.Intn(2) == 0,
		queues: []queue{{"a", "50"}, {"b", "30"}, {"c", "20"}}}
	if rng.Intn(4) == 0 {
		opt.replicas = 5
	}
	return opt
}

// driver injects faults.
type driver struct {
	w     *world
	l     *load
	rng   *rand.Rand
	kinds []func(d *driver)
}

func newDriver(w *world, l *load, rng *rand.Rand) *driver {
	d := &driver{w: w, l: l, rng: rng}
	all := []func(d *driver){(*driver).crash, (*driver).crashLeader, (*driver).isolate, (*driver).transfer, (*driver).freeze,
		(*driver).snapshot, (*driver).slow, (*driver).silence, (*driver).loss, (*driver).blackout, (*driver).late}
	for _, k := range all { // swarm: each seed has its own mix
		if rng.Intn(3) > 0 {
			d.kinds = append(d.kinds, k)
		}
	}
	if len(d.kinds) == 0 {
		d.kinds = all
	}
	return d
}

// step waits, injects a fault, waits, and now and then heals.
func (d *driver) step() {
	time.Sleep(time.Duration(200+d.rng.Intn(3000)) * time.Millisecond)
	d.kinds[d.rng.Intn(len(d.kinds))](d)
	time.Sleep(time.Duration(100+d.rng.Intn(3000)) * time.Millisecond)
	if d.rng.Intn(2) == 0 {
		d.w.check.note("all heals")
		d.w.heal()
	}
}

func (d *driver) any() *replica { return d.w.rs[d.rng.Intn(len(d.w.rs))] }

// leading is the leader, or any replica when there is none.
func (d *driver) leading() *replica {
	for _, r := range d.w.rs {
		if l, up := r.now(); up && l.cluster.IsLeader() {
			return r
		}
	}
	return d.any()
}

func (d *driver) crash()       { d.any().crash() }
func (d *driver) crashLeader() { d.leading().crash() }

func (d *driver) blackout() {
	if d.rng.Intn(4) > 0 {
		return
	}
	for _, r := range d.w.rs {
		r.crash()
	}
	time.Sleep(time.Duration(d.rng.Intn(1000)) * time.Millisecond)
	d.w.heal()
}

func (d *driver) isolate() {
	r := d.any()
	if d.rng.Intn(2) == 0 {
		r = d.leading()
	}
	way := d.rng.Intn(3)
	d.w.check.note("%s is cut off (in %v, out %v)", r.id, way != 1, way != 0)
	d.w.net.isolate(r.id, way != 1, way != 0)
}

func (d *driver) transfer() {
	l, up := d.leading().now()
	if !up {
		return
	}
	id := ""
	if d.rng.Intn(2) == 0 {
		id = d.any().id
	}
	d.w.check.note("leadership is handed over to %q", id)
	_ = l.cluster.Transfer(id) // refused when the target is not fit: that is all right
}

func (d *driver) freeze() {
	r := d.any()
	if d.rng.Intn(2) == 0 {
		r = d.leading()
	}
	if _, up := r.now(); !up {
		return
	}
	d.w.check.note("%s stands still", r.id)
	d.w.freeze(r)
	time.Sleep(time.Duration(200+d.rng.Intn(2500)) * time.Millisecond)
	d.w.check.note("%s goes on", r.id)
	d.w.thaw()
}

func (d *driver) snapshot() {
	if l, up := d.any().now(); up {
		_ = l.cluster.Snapshot() // refused when there is nothing new
	}
}

func (d *driver) slow() {
	r := d.any()
	d.w.check.note("%s applies slowly", r.id)
	d.w.slowDown(r.id, time.Duration(1+d.rng.Intn(100))*time.Millisecond)
}

func (d *driver) silence() {
	n := d.l.nodes[d.rng.Intn(len(d.l.nodes))]
	d.w.check.note("node %s is silent", n.id)
	n.sleep(time.Duration(1+d.rng.Intn(30)) * time.Second)
}

// late makes batches come to Raft late, so that leadership moves in between.
func (d *driver) late() {
	d.w.check.note("batches come to Raft late")
	d.w.setTrap(func(string, []byte) { time.Sleep(d.w.drawn(2 * time.Second)) })
	for range 1 + d.rng.Intn(3) {
		d.transfer()
		time.Sleep(d.w.drawn(time.Second))
	}
	d.w.trap.Store(nil)
}

func (d *driver) loss() {
	d.w.check.note("messages are lost")
	d.w.net.lossy(2 + d.rng.Intn(20))
}

// drainTime is how long the work that is left may take once all is healed.
const drainTime = 5 * time.Minute

// settle heals and waits: L1, L2, L3.
func (d *driver) settle() {
	w := d.w
	w.check.note("the calm")
	w.heal()
	w.leader(10 * election)
	d.l.settle()
	for end := time.Now().Add(drainTime); ; time.Sleep(100 * time.Millisecond) {
		left := d.left()
		if left == "" || w.check.broken() {
			return
		}
		if time.Now().After(end) {
			w.check.fail("%s after everything was healed, still: %s", drainTime, left)
			return
		}
	}
}

// left says what is not done yet; empty when all is.
func (d *driver) left() string {
	if n := d.l.clientsLeft(); n > 0 {
		return fmt.Sprintf("%d clients wait for an answer; %s", n, d.w.where())
	}
	c := d.w.check
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.books
	for _, a := range b.apps {
		if !a.ended {
			return fmt.Sprintf("application %+v goes on, %d reservations are held", *a, len(b.reservations))
		}
	}
	for number, r := range b.reservations {
		return fmt.Sprintf("r%d is held: %+v", number, *r)
	}
	for _, n := range b.nodes {
		if n.used != (yarn.Resource{}) {
			return fmt.Sprintf("node %s gives %s to nobody", n.id, n.used)
		}
	}
	return ""
}
