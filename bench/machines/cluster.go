package main

import (
	"math"
	"time"
)

// machine describes the hardware of a cluster.
type machine struct {
	replicas, cores int
	// shared means that all replicas and the load use the same cores and the same disk.
	shared     bool
	sync       time.Duration // duration of a sync
	disk, link float64       // bytes per second; a link of 0 has no limit
	delay      time.Duration // transmission time of a message between two replicas
}

// call is an input on its way from the port of a replica to the planner and back.
type call struct {
	at         int           // the replica that gets the call
	containers float64       // containers whose messages it carries; each container has three: granted, started, ended
	plan       time.Duration // cost of planning it
	batch                    // the events that it causes
	local      bool          // without messages: the caller runs in the leader's process
	done       func()
}

// batch counts events, the nodes and applications that they change, and the container ends that
// they report to ApplicationMasters.
type batch struct{ events, touched, told int }

// entry is a batch, in the log or on its way there.
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
	stored, known     int // numbers of entries; known are known to be committed
	applying, applied int
	waiters           []func() // callers that wait until the entry in until is applied
	until             []int
	readers           []func() // callers that wait for the lock of the state
	forked            bool     // the state was read after the last entry
}

// cluster has all replicas and the sequencer of the leader.
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
	landed            int      // number of them that are applied here and that the planner has not handled yet
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

// wake simulates n goroutines, each of which wakes the next one. Their own work is negligible, but
// they wait for a core like all others.
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

// enter simulates a call that reaches a port. transport/hadoop reads it on any core, and
// transport/forward sends it to the leader.
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
			c.wake(c.all[0], 1, func() { // the connection's goroutine
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

// drive is the loop of leader/driver.go: first the applied entries, then a proposal, then one
// input. When the open batch is full, no input is planned until the batch in flight is applied
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

// propose passes the open batch to Raft unless maxInFlight batches are in flight. Raft's leader
// first stores the entry and then sends it (hashicorp/raft dispatchLogs, pipelineSend).
func (c *cluster) propose() {
	if len(c.inflight) == c.maxInFlight || c.open.events == 0 {
		return
	}
	e := c.open
	e.began, c.open = c.now, &entry{}
	c.inflight, c.log = append(c.inflight, e), append(c.log, e)
	c.entries, c.eventsIn = c.entries+1, c.eventsIn+e.events
	lead, index := c.all[0], len(c.log)
	c.wake(lead, 2, func() { // driver.commit and raft's main loop
		c.keep(lead, e, func() {
			lead.stored = index
			c.ack(e, index)
			for _, r := range c.all[1:] {
				known := lead.known
				lead.cores.serve(c.send, func() { // raft's replication goroutine for this follower, and the connection's
					c.transmit(lead, float64(e.events*c.eventBytes), func() { c.follow(r, e, index, known) })
				})
			}
		})
	})
}

// keep stores an entry: bbolt writes and syncs its pages, and then its meta page.
func (c *cluster) keep(r *replica, e *entry, then func()) {
	bytes := float64(e.events * c.eventBytes)
	write := c.sync + time.Duration(bytes/c.machine.disk*float64(time.Second))
	r.raft.run(c.entry+time.Duration(e.events)*c.store, func() {
		r.disk.serve(write, func() {
			c.wake(r, 1, func() { // the goroutine returns from the system call and needs a core
				r.disk.serve(c.sync, func() { c.wake(r, 1, then) })
			})
		})
	})
}

// follow simulates hashicorp/raft appendEntries: a follower first stores the entry, and then
// applies what the leader knew to be committed when it sent the entry.
func (c *cluster) follow(r *replica, e *entry, index, known int) {
	c.wake(r, 2, func() { // the connection's goroutine and raft's main loop
		c.keep(r, e, func() {
			r.stored = index
			c.learn(r, known)
			c.wake(r, 1, func() { // the answer
				c.transmit(r, 100, func() {
					c.wake(c.all[0], 3, func() { c.ack(e, index) }) // the connection's goroutine, pipelineDecode and raft's main loop
				})
			})
		})
	})
}

// ack counts a replica that has stored an entry, and commits the entry at a majority.
func (c *cluster) ack(e *entry, index int) {
	if e.acks++; e.acks == len(c.all)/2+1 {
		c.learn(c.all[0], index)
	}
}

// learn makes a replica apply what is committed.
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
				c.wake(r, 3, func() { // instance.await, driver.await and driver.run
					c.commits = append(c.commits, c.now-e.began)
					c.landed++
					c.drive()
				})
			}
		})
	}
}

// applying returns the cost of applying an entry. A fork of the state shares its pages. If the
// state was read since the previous entry, each page is copied at its first change (fsm/state).
// With many changes, more of them hit a page that is already copied.
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

// read forks the state of a replica. It waits for the lock, which is held while an entry is applied
// (fsm/machine.go).
func (c *cluster) read(r *replica, then func()) {
	r.forked = true
	if r.fsm.running {
		r.readers = append(r.readers, then)
		return
	}
	then()
}

// release answers the callers that wait for the oldest entry in flight. If no other entry follows,
// the leader tells the followers that it is committed (cluster/commitnotifier.go).
func (c *cluster) release() {
	e, index := c.inflight[0], len(c.log)-len(c.inflight)+1
	c.inflight = c.inflight[1:]
	for _, x := range e.waiters {
		c.answer(x, index)
	}
	e.waiters = nil // the log keeps the entry itself
	if c.open.events == 0 && len(c.inflight) == 0 {
		for _, r := range c.all[1:] {
			c.transmit(c.all[0], 100, func() { c.learn(r, index) })
		}
	}
}

// answer returns a reply to the caller. A follower first waits until it has applied what the reply
// depends on.
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
	c.wake(c.all[0], 2, func() { // the caller's and the connection's goroutines
		c.transmit(c.all[0], c.bytes(x)/4, func() {
			c.wake(r, 1, func() { // the connection's goroutine
				if r.applied >= index {
					write()
					return
				}
				r.until, r.waiters = append(r.until, index), append(r.waiters, write)
			})
		})
	})
}
