package main

import (
	"math"
	"time"
)

// machine is what a cluster runs on.
type machine struct {
	replicas, cores int
	// shared says that all replicas and the load have the same cores and disk.
	shared     bool
	sync       time.Duration // of the disk
	disk, link float64       // bytes per second; a link of 0 has no limit
	delay      time.Duration // of a message between two replicas
}

// call is an input on its way: from the port of a replica to the planner, and back.
type call struct {
	at         int           // the replica that it reaches
	containers float64       // whose messages it carries; a life has three: granted, started, ended
	plan       time.Duration // what planning it costs
	batch                    // that it leads to
	local      bool          // it has no frames: the caller is in the leader's process
	done       func()
}

// batch is events, the nodes and applications that they change, and the ends that they say an
// ApplicationMaster is told of.
type batch struct{ events, touched, told int }

// entry is a batch in the log, or before it gets there.
type entry struct {
	batch
	acks    int
	began   time.Duration
	waiters []*call
}

// replica is one replica. The first one leads.
type replica struct {
	cores, disk, link *station
	raft, fsm         *goroutine
	stored, known     int // entries; known to be committed
	applying, applied int
	waiters           []func() // of entries not applied yet, by the entry
	until             []int
	readers           []func() // wait for the lock of the state
	forked            bool     // somebody has read the state since the last entry
}

// cluster is all replicas and the sequencer of the leader.
type cluster struct {
	*engine
	costs
	machine
	all     []*replica
	planner *goroutine

	inbox             []*call
	planning          bool
	open              *entry
	inflight          []*entry // proposed, oldest first
	landed            int      // how many of them are applied here, and the planner has not looked yet
	log               []*entry
	blocked           time.Duration // how long inputs waited because the open batch was full
	blockedAt         time.Duration
	commits           []time.Duration
	entries, eventsIn int
}

func newCluster(c costs, m machine) *cluster {
	e := &engine{}
	out := &cluster{engine: e, costs: c, machine: m, open: &entry{}, blockedAt: -1}
	var cores, disk *station
	for i := range m.replicas {
		if i == 0 || !m.shared {
			cores, disk = &station{engine: e, servers: m.cores}, &station{engine: e, servers: 1}
		}
		r := &replica{cores: cores, disk: disk, link: &station{engine: e, servers: 1}}
		r.raft, r.fsm = &goroutine{cores: r.cores}, &goroutine{cores: r.cores}
		out.all = append(out.all, r)
	}
	out.planner = &goroutine{cores: out.all[0].cores}
	return out
}

// wake is n goroutines, each of which wakes the next one: they have no work worth mentioning, but wait
// for a core like all others.
func (c *cluster) wake(r *replica, n int, then func()) {
	if n == 0 {
		then()
		return
	}
	r.cores.serve(c.hop, func() { c.wake(r, n-1, then) })
}

// transmit sends bytes from a replica to another one.
func (c *cluster) transmit(r *replica, bytes float64, then func()) {
	took := time.Duration(0)
	if c.machine.link > 0 {
		took = time.Duration(bytes / c.machine.link * float64(time.Second))
	}
	r.link.serve(took, func() { c.after(c.delay, then) })
}

// enter is a call that reaches a port: transport/hadoop reads it on any core, and transport/forward
// brings it to the leader.
func (c *cluster) enter(x *call) {
	if x.local {
		c.plan(x)
		return
	}
	r := c.all[x.at]
	cost := c.beat/2 + c.part(c.messages/2, x)
	if x.at > 0 {
		cost += c.forward / 2
	}
	r.cores.serve(cost, func() {
		if x.at == 0 {
			c.plan(x)
			return
		}
		c.transmit(r, c.bytes(x)/4, func() {
			c.wake(c.all[0], 1, func() { // the connection
				c.all[0].cores.serve(c.forward/2+c.part(c.forwarded, x), func() { c.plan(x) })
			})
		})
	})
}

func (c *cluster) part(of time.Duration, x *call) time.Duration {
	return time.Duration(float64(of) * x.containers / 3)
}

func (c *cluster) bytes(x *call) float64 { return 200 + float64(c.messageBytes)*x.containers/3 }

// plan queues an input for the goroutine that plans (leader/sequencer.go).
func (c *cluster) plan(x *call) {
	c.inbox = append(c.inbox, x)
	c.drive()
}

// drive is the loop of leader/driver.go: what is applied first, then a proposal, then one input. The
// open batch takes no more events once it is full, until the one in flight is applied
// (leader/core.go).
func (c *cluster) drive() {
	if c.planning {
		return
	}
	for c.landed > 0 {
		c.landed--
		c.release()
	}
	c.propose()
	full := c.open.events >= c.batchEvents
	if full != (c.blockedAt >= 0) {
		if full {
			c.blockedAt = c.now
		} else {
			c.blocked, c.blockedAt = c.blocked+c.now-c.blockedAt, -1
		}
	}
	if full || len(c.inbox) == 0 {
		return
	}
	x := c.inbox[0]
	c.inbox, c.planning = c.inbox[1:], true
	c.planner.run(x.plan, func() {
		c.planning = false
		if x.events > 0 {
			o := &c.open.batch
			o.events, o.touched, o.told = o.events+x.events, o.touched+x.touched, o.told+x.told
			c.open.waiters = append(c.open.waiters, x)
		} else {
			c.answer(x, 0)
		}
		c.drive()
	})
}

// propose gives the open batch to Raft unless as many are in flight as may be. Raft's leader stores it
// first and then sends it (hashicorp/raft dispatchLogs, pipelineSend).
func (c *cluster) propose() {
	if len(c.inflight) == c.maxInFlight || c.open.events == 0 {
		return
	}
	e := c.open
	e.began, c.open = c.now, &entry{}
	c.inflight, c.log = append(c.inflight, e), append(c.log, e)
	c.entries, c.eventsIn = c.entries+1, c.eventsIn+e.events
	lead, index := c.all[0], len(c.log)
	c.wake(lead, 2, func() { // driver.commit, raft's leader
		c.keep(lead, e, func() {
			lead.stored = index
			c.ack(e, index)
			for _, r := range c.all[1:] {
				known := lead.known
				lead.cores.serve(c.send, func() { // its replication to this follower, the connection
					c.transmit(lead, float64(e.events*c.eventBytes), func() { c.follow(r, e, index, known) })
				})
			}
		})
	})
}

// keep stores an entry: bolt writes and syncs its pages, and then its meta page.
func (c *cluster) keep(r *replica, e *entry, then func()) {
	bytes := float64(e.events * c.eventBytes)
	write := c.sync + time.Duration(bytes/c.machine.disk*float64(time.Second))
	r.raft.run(c.entry+time.Duration(e.events)*c.store, func() {
		r.disk.serve(write, func() {
			c.wake(r, 1, func() { // back from the system call, without a core
				r.disk.serve(c.sync, func() { c.wake(r, 1, then) })
			})
		})
	})
}

// follow is hashicorp/raft appendEntries: a follower stores first, and then applies what the leader
// knew to be committed when it sent the entry.
func (c *cluster) follow(r *replica, e *entry, index, known int) {
	c.wake(r, 2, func() { // the connection, raft's follower
		c.keep(r, e, func() {
			r.stored = index
			c.learn(r, known)
			c.wake(r, 1, func() { // the answer
				c.transmit(r, 100, func() {
					c.wake(c.all[0], 3, func() { c.ack(e, index) }) // the connection, pipelineDecode, raft's leader
				})
			})
		})
	})
}

// ack commits an entry that a majority has stored.
func (c *cluster) ack(e *entry, index int) {
	if e.acks++; e.acks == len(c.all)/2+1 {
		c.learn(c.all[0], index)
	}
}

// learn lets a replica apply what is committed.
func (c *cluster) learn(r *replica, index int) {
	r.known = max(r.known, index)
	for r.applying < min(r.known, r.stored) {
		r.applying++
		index, e := r.applying, c.log[r.applying-1]
		r.fsm.run(c.applying(r, e), func() {
			r.applied = index
			for _, read := range r.readers {
				read()
			}
			r.readers = nil
			for len(r.until) > 0 && r.until[0] <= index {
				w := r.waiters[0]
				r.until, r.waiters = r.until[1:], r.waiters[1:]
				w()
			}
			if r == c.all[0] {
				c.wake(r, 3, func() { // instance.await, driver.await, driver.run
					c.commits = append(c.commits, c.now-e.began)
					c.landed++
					c.drive()
				})
			}
		})
	}
}

// applying is what applying an entry costs. A fork of the state shares its pages: if somebody has read
// the state since the entry before, each page is copied when it is first changed (fsm/state). Of many
// changes more meet a page that is copied already.
func (c *cluster) applying(r *replica, e *entry) time.Duration {
	cost := time.Duration(e.events)*c.apply + time.Duration(e.told)*c.tell
	if r.forked {
		r.cores.serve(c.view*time.Duration(min(e.events, 300))/300, func() {})
		cost += pages(c.copyEvent, e.events) + pages(c.copyTouched, e.touched)
	}
	r.forked = false
	return cost
}

func pages(first time.Duration, n int) time.Duration {
	return time.Duration(float64(first) * math.Pow(float64(n), 2./3))
}

// read forks the state of a replica, whose lock is held while an entry is applied (fsm/machine.go).
func (c *cluster) read(r *replica, then func()) {
	r.forked = true
	if r.fsm.running {
		r.readers = append(r.readers, then)
		return
	}
	then()
}

// release answers those who waited for the oldest entry in flight. If no other one follows, the leader
// tells its followers that it is committed (cluster/commitnotifier.go).
func (c *cluster) release() {
	e, index := c.inflight[0], len(c.log)-len(c.inflight)+1
	c.inflight = c.inflight[1:]
	for _, x := range e.waiters {
		c.answer(x, index)
	}
	e.waiters = nil // the log keeps the entry
	if c.open.events == 0 && len(c.inflight) == 0 {
		for _, r := range c.all[1:] {
			c.transmit(c.all[0], 100, func() { c.learn(r, index) })
		}
	}
}

// answer takes a reply back. A follower waits until it has applied what the reply rests on.
func (c *cluster) answer(x *call, index int) {
	if x.local {
		x.done()
		return
	}
	r := c.all[x.at]
	write := func() { c.read(r, func() { r.cores.serve(c.beat/2+c.part(c.messages/2, x), x.done) }) }
	if x.at == 0 {
		write()
		return
	}
	c.wake(c.all[0], 2, func() { // the caller, the connection
		c.transmit(c.all[0], c.bytes(x)/4, func() {
			c.wake(r, 1, func() { // the connection
				if r.applied >= index {
					write()
					return
				}
				r.until, r.waiters = append(r.until, index), append(r.waiters, write)
			})
		})
	})
}
