package load

import (
	"fmt"
	"math/rand/v2"
	"time"

	"rmd/jepsen-lite/history"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// masters runs one application with its AM after the other.
type masters struct {
	l     *Load
	name  string
	rng   *rand.Rand
	count int
}

func (m *masters) run() {
	hist := m.l.rec.Client(m.name)
	for sleep(m.l.demand, jitter(m.rng, m.l.cfg.Beat)) {
		m.count++
		queue := Queues[m.rng.IntN(len(Queues))]
		app, ok := m.l.submit(hist, m.rng, fmt.Sprintf("%s-%d", m.name, m.count), keyOf(m.name, m.count), queue)
		if !ok {
			continue
		}
		id, err := yarn.ParseApplicationID(app.ID)
		if err != nil {
			m.l.note("an application was given the id %q: %v", app.ID, err)
			continue
		}
		am := &master{masters: m, hist: hist, id: yarn.AttemptID{App: id, Attempt: 1}, held: map[yarn.ContainerID]bool{}}
		am.run()
	}
}

// master is one ApplicationMaster.
type master struct {
	*masters
	hist     *history.Client
	id       yarn.AttemptID
	response int32
	held     map[yarn.ContainerID]bool
	wanted   int64
	size     int64
	asks     bool // the next call must ask for `wanted` containers
}

func (a *master) run() {
	a.wanted, a.size = int64(1+a.rng.IntN(8)), 512*int64(1+a.rng.IntN(4))
	if a.rng.IntN(6) == 0 { // three quarters of a node: it rarely fits, so the scheduler reserves a node
		a.wanted, a.size = 1, nodeMB*3/4
	}
	if !a.register() {
		return
	}
	a.asks = true
	for a.wanted > 0 || len(a.held) > 0 {
		if !a.allocate() {
			return
		}
		if !sleep(a.l.demand, jitter(a.rng, a.l.cfg.Beat)) {
			return
		}
	}
	a.finish()
}

// register tries until it is answered. It returns false if the attempt has ended.
func (a *master) register() bool {
	for a.l.demand.Err() == nil {
		a.hist.Invoke(history.RegisterAM, history.Value{App: a.id.App.String(), Attempt: a.id.String()})
		reply, err := a.l.ask(&input.RegisterAttempt{Attempt: a.id, Host: "am"})
		if err != nil {
			a.hist.Info(err.Error())
			continue
		}
		if f := reply.Refused(); f != nil {
			a.hist.Fail(string(f.Reason))
			if a.alive() && sleep(a.l.demand, a.l.cfg.Beat) {
				continue // its queue may have no room for another AM yet
			}
			return false
		}
		a.hist.OK(history.Value{})
		return true
	}
	return false
}

// alive asks whether the application still runs, as the client of an unmanaged application does.
func (a *master) alive() bool {
	state, ok := a.l.readApp(a.hist, a.rng, a.id.App.String(), nil)
	return !ok || state != "KILLED" && state != "FAILED" && state != "FINISHED"
}

// allocate sends one heartbeat. An unanswered call is repeated with the same response number. It
// returns false if the attempt has ended.
func (a *master) allocate() bool {
	in := &input.Allocate{Attempt: a.id, Response: a.response}
	if a.asks {
		in.Asks = []input.Ask{{Key: yarn.SchedulerKey{Priority: 1}, Name: yarn.Any, Count: a.wanted,
			Size: yarn.NewResource(a.size, 1), Relax: true}}
	}
	var released []string
	if len(a.held) > 0 && a.rng.IntN(20) == 0 {
		for id := range a.held { // any one
			in.Releases, released = []yarn.ContainerID{id}, []string{id.String()}
			break
		}
	}
	a.hist.Invoke(history.Allocate, history.Value{App: a.id.App.String(), Attempt: a.id.String(), Response: a.response,
		Containers: released})
	reply, err := a.l.ask(in)
	if err != nil {
		a.hist.Info(err.Error())
		return a.l.demand.Err() == nil
	}
	if f := reply.Refused(); f != nil {
		a.hist.Fail(string(f.Reason))
		return false
	}
	r := reply.(*input.AllocateReply)
	out := history.Value{Response: r.Response}
	a.response, a.asks = r.Response, false
	for _, g := range r.Granted {
		out.Granted = append(out.Granted, history.Grant{Container: g.Container.String(), Node: g.Node.String(),
			MemoryMB: g.Size[0], VCores: g.Size[1]})
	}
	for _, s := range r.Completed {
		out.Completed = append(out.Completed, history.Completion{Container: s.Container.String(), Exit: s.ExitStatus})
	}
	a.hist.OK(out)
	a.take(r)
	return true
}

// take starts the granted containers on their nodes and forgets the completed ones.
func (a *master) take(r *input.AllocateReply) {
	for _, g := range r.Granted {
		a.l.Counts.Containers.Add(1)
		a.held[g.Container] = true
		if a.wanted > 0 {
			a.wanted--
		}
		a.l.mu.Lock()
		node := a.l.agents[g.Node]
		a.l.mu.Unlock()
		if node == nil {
			a.l.note("%s was granted on node %s, which there is not", g.Container, g.Node)
			continue
		}
		node.start(g.Container, time.Duration(100+a.rng.IntN(900))*time.Millisecond)
	}
	for _, s := range r.Completed {
		delete(a.held, s.Container)
	}
}

// finish tries until it is answered.
func (a *master) finish() {
	for a.l.demand.Err() == nil {
		a.hist.Invoke(history.Finish, history.Value{App: a.id.App.String(), Attempt: a.id.String(), State: "SUCCEEDED"})
		reply, err := a.l.ask(&input.FinishAttempt{Attempt: a.id, Final: yarn.FinalSucceeded})
		if err != nil {
			a.hist.Info(err.Error())
			continue
		}
		if f := reply.Refused(); f != nil {
			a.hist.Fail(string(f.Reason))
			return
		}
		a.hist.OK(history.Value{})
		return
	}
}
