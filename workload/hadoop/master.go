package hadoop

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	gproto "google.golang.org/protobuf/proto"

	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// slot is the place of one ask. Its number is the allocation request id of the ask.
type slot struct {
	asked     int64
	left      int // containers that were requested and not allocated
	cancelled bool
}

// master is one unmanaged ApplicationMaster.
type master struct {
	r       *run
	number  int // index in its pacer
	app     *proto.ApplicationIdProto
	replica replicaConn
	answer  func([]byte, error)

	response int32
	fresh    bool // all outstanding asks must be sent again
	bytes    []byte
	sent     int64
	slots    []slot

	mu    sync.Mutex // guards live, which drain also reads
	live  map[uint64]*container
	seen  bitset
	told  []*container // completed containers in the last answer
	after int          // number of answers since draining began
}

// bitset is a set of numbers that begin at 0 and have few gaps.
type bitset []uint64

// add adds a number and reports whether it is new.
func (b *bitset) add(n uint64) bool {
	w := int(n / 64)
	for w >= len(*b) {
		*b = append(*b, 0)
	}
	was := (*b)[w]
	(*b)[w] |= 1 << (n % 64)
	return was != (*b)[w]
}

func (b bitset) has(n uint64) bool {
	w := int(n / 64)
	return w < len(b) && b[w]&(1<<(n%64)) != 0
}

func newMaster(r *run, i int) *master {
	m := &master{r: r, number: i, slots: make([]slot, r.cfg.Outstanding), live: map[uint64]*container{}}
	m.replica = newReplicaConn(r, r.cfg.Addresses.Scheduler, i, ipc.Target{Protocol: masterProtocol})
	m.answer = m.reply
	return m
}

// submit submits the application and waits for the AMRM token of its attempt.
func (m *master) submit(ctx context.Context, cl *replicaConn) error {
	var made proto.GetNewApplicationResponseProto
	if err := cl.call(ctx, "getNewApplication", &proto.GetNewApplicationRequestProto{}, &made); err != nil {
		return fmt.Errorf("get a new application: %w", err)
	}
	m.app = made.GetApplicationId()
	err := cl.call(ctx, "submitApplication",
		&proto.SubmitApplicationRequestProto{ApplicationSubmissionContext: &proto.ApplicationSubmissionContextProto{
			ApplicationId: m.app, ApplicationName: new(fmt.Sprint("bench-", m.number+1)), Queue: new(m.r.cfg.Queue),
			Priority:    wire.PriorityProto(0),
			UnmanagedAm: new(true), ApplicationType: new("RMD-BENCH"), AmContainerSpec: &proto.ContainerLaunchContextProto{},
			MaxAppAttempts: new(int32(1)),
			Resource:       wire.ResourceProto(yarn.NewResource(m.r.cfg.MemoryMB, m.r.cfg.VCores), kinds),
		}}, &proto.SubmitApplicationResponseProto{})
	if err != nil {
		return fmt.Errorf("submit an application to queue %q: %w", m.r.cfg.Queue, err)
	}
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		var out proto.GetApplicationReportResponseProto
		if err := cl.call(ctx, "getApplicationReport", &proto.GetApplicationReportRequestProto{ApplicationId: m.app},
			&out); err != nil {
			return fmt.Errorf("ask for the report of an application: %w", err)
		}
		report := out.GetApplicationReport()
		if t := report.GetAmRmToken(); t != nil {
			m.replica.target.Token = &ipc.Token{Identifier: t.GetIdentifier(), Password: t.GetPassword()}
			return nil
		}
		if s := report.GetYarnApplicationState(); s > proto.YarnApplicationStateProto_ACCEPTED &&
			s != proto.YarnApplicationStateProto_RUNNING {
			return fmt.Errorf("application %d is %s: %s", m.app.GetId(), s, report.GetDiagnostics())
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("application %d is %s and has no token: %s: %w", m.app.GetId(), report.GetYarnApplicationState(),
				report.GetDiagnostics(), ctx.Err())
		}
	}
}

// register registers the master.
func (m *master) register(ctx context.Context) error {
	err := m.replica.call(ctx, "registerApplicationMaster",
		&proto.RegisterApplicationMasterRequestProto{Host: new("198.18.0.0"), RpcPort: new(int32(-1)), TrackingUrl: new("")},
		&proto.RegisterApplicationMasterResponseProto{})
	if err != nil {
		return fmt.Errorf("register the master of application %d: %w", m.app.GetId(), err)
	}
	m.response, m.fresh = 0, true
	return nil
}

// beat implements member.
func (m *master) beat() {
	m.sent = m.r.now()
	m.compose()
	m.send()
}

func (m *master) send() {
	if err := m.replica.conn.Go(m.r.ctx, "allocate", m.bytes, m.answer); err != nil {
		go m.recover(err)
	}
}

// compose encodes the next call. Each empty slot asks for a batch. During draining, the call
// cancels all asks.
func (m *master) compose() {
	draining := m.r.draining.Load()
	b := m.bytes[:0]
	for i := range m.slots {
		s := &m.slots[i]
		switch {
		case draining && s.left > 0 && (!s.cancelled || m.fresh):
			s.cancelled = true
			b = m.r.sizes.appendAsk(b, i, 0)
		case draining:
		case s.left <= 0:
			s.left, s.asked = m.r.cfg.Batch, m.sent
			m.r.asked.Add(int64(s.left))
			b = m.r.sizes.appendAsk(b, i, s.left)
		case m.fresh:
			b = m.r.sizes.appendAsk(b, i, s.left)
		}
	}
	m.fresh = false
	m.bytes = appendTurn(b, m.response)
}

// reply processes the answer of a call, on the goroutine that reads the connection.
func (m *master) reply(body []byte, err error) {
	now := m.r.now()
	if err == nil {
		err = m.processAnswer(body, now)
	}
	if err != nil {
		go m.recover(err)
		return
	}
	m.r.allocates.Add(1)
	if m.r.measuring.Load() {
		m.r.allocate.add(time.Duration(now - m.sent))
	}
	m.r.masters.done(m.number)
}

// processAnswer processes an answer. Its arrival shows that the server knows that the master got
// the previous answer.
func (m *master) processAnswer(body []byte, now int64) error {
	measuring := m.r.measuring.Load()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.told {
		m.r.done.Add(1)
		if measuring {
			m.r.life.add(time.Duration(now - c.asked))
		}
	}
	clear(m.told)
	m.told = m.told[:0]
	if m.r.draining.Load() {
		m.after++
	}
	s := scanner{rest: body}
	for s.next() {
		var err error
		switch s.num {
		case 2:
			m.response = int32(s.number)
		case 3:
			err = m.granted(s.bytes, now, measuring)
		case 4:
			err = m.ended(s.bytes, now, measuring)
		case 12:
			err = m.renew(s.bytes)
		}
		if err != nil {
			return err
		}
	}
	return s.err
}

// granted processes an allocated container and gives it to its node.
func (m *master) granted(b []byte, now int64, measuring bool) error {
	var g grant
	if err := g.scan(b); err != nil {
		return err
	}
	r := m.r
	r.counters.granted.Add(1)
	n := r.nodeAt(g.host, g.port)
	if n == nil || !g.id.found || g.id.app != uint64(m.app.GetId()) {
		r.strange.Add(1)
		return nil
	}
	number := yarn.ContainerSequence(g.id.number)
	if !m.seen.add(number) {
		r.twice.Add(1)
		return nil
	}
	if !g.tokens {
		r.noToken.Add(1)
	}
	c := &container{id: bytes.Clone(g.rawID), mb: g.mb}
	if g.slot >= 0 && g.slot < int64(len(m.slots)) && m.slots[g.slot].left > 0 {
		s := &m.slots[g.slot]
		s.left--
		c.asked = s.asked
	} else {
		r.unasked.Add(1)
		c.asked = now
	}
	if measuring {
		r.grant.add(time.Duration(now - c.asked))
	}
	m.live[number] = c
	n.give(c)
	return nil
}

// ended processes a completed container.
func (m *master) ended(b []byte, now int64, measuring bool) error {
	var e ending
	if err := e.scan(b); err != nil {
		return err
	}
	r := m.r
	number := yarn.ContainerSequence(e.id.number)
	c := m.live[number]
	switch {
	case c == nil && e.id.found && e.id.app == uint64(m.app.GetId()) && m.seen.has(number):
		r.toldTwice.Add(1)
		return nil
	case c == nil:
		r.strange.Add(1)
		return nil
	}
	delete(m.live, number)
	r.counters.told.Add(1)
	m.told = append(m.told, c)
	at := c.ended.Load()
	if at == 0 || e.exit != c.exit() || e.state != uint64(proto.ContainerStateProto_C_COMPLETE) {
		r.failed.Add(1)
	} else if measuring {
		r.tells.add(time.Duration(now - at))
	}
	return nil
}

// renew stores a new token for the next connection.
func (m *master) renew(b []byte) error {
	var t proto.TokenProto
	if err := gproto.Unmarshal(b, &t); err != nil {
		return err
	}
	m.replica.target.Token = &ipc.Token{Identifier: t.GetIdentifier(), Password: t.GetPassword()}
	return nil
}

// recover handles a failed call: it repeats the call at the next replica, or registers again if the
// server says so, or gives up.
func (m *master) recover(err error) {
	m.r.note(err)
	m.r.allocateErrors.Add(1)
	for m.r.ctx.Err() == nil {
		remote := refused(err)
		if hasClass(remote, classNotFound) {
			m.r.fail(fmt.Errorf("application %d: %w", m.app.GetId(), err))
			break
		}
		if hasClass(remote, classNotRegistered) {
			m.r.reregistered.Add(1)
			if err := m.register(m.r.ctx); err != nil {
				m.r.note(err)
			}
			break
		}
		if remote != nil {
			m.r.pause(errorPause)
			break
		}
		if m.replica.move(m.r.ctx) != nil {
			break
		}
		if err = m.replica.conn.Go(m.r.ctx, "allocate", m.bytes, m.answer); err == nil {
			return
		}
	}
	m.r.masters.done(m.number)
}

// drained reports whether no more containers can come, and how many containers are not reported as
// completed.
func (m *master) drained() (done bool, live int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.after >= drainedAfter && len(m.live) == 0 && len(m.told) == 0, len(m.live)
}

// drainedAfter is the number of answers to wait for after draining began. The first may answer a
// call from before that, the second answers the call that cancels the asks, and one more brings the
// last containers.
const drainedAfter = 3

// leave finishes the application.
func (m *master) leave(ctx context.Context) error {
	defer m.replica.close()
	req := &proto.FinishApplicationMasterRequestProto{Diagnostics: new(""), TrackingUrl: new(""),
		FinalApplicationStatus: proto.FinalApplicationStatusProto_APP_SUCCEEDED.Enum()}
	for {
		var reply proto.FinishApplicationMasterResponseProto
		if err := m.replica.call(ctx, "finishApplicationMaster", req, &reply); err != nil || reply.GetIsUnregistered() {
			return err
		}
		select {
		case <-time.After(errorPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
