package planner

import (
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/fsm/state/change"
	"rmd/scheduler"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/scheduler/planner/audit"
	"rmd/scheduler/planner/label"
	"rmd/scheduler/planner/lifecycle"
	"rmd/scheduler/planner/node"
	"rmd/scheduler/planner/token"
	"rmd/scheduler/preemption"
)

// Options are the settings of a Planner.
type Options struct {
	// Eager adds passes when an ask arrives and when resources are freed. Without it, passes only
	// run on node heartbeats, as in YARN.
	Eager bool
	// Level is the highest feature level that this replica knows; 0 means that of this build.
	Level uint32
}

// Planner plans inputs on a state that it owns. It is not safe for concurrent use.
//
// It has a handler for each thing that inputs change. A handler has the scheduler, whose state it
// reads and by which it emits events, and those handlers that it asks. What reads only has the views.
type Planner struct {
	sched *scheduler.Scheduler
	st    *state.State // the same state as the scheduler's
	opt   Options

	apps        applications
	attempts    attempts
	cluster     cluster
	containers  containers
	dynamic     dynamicQueues
	ends        lifecycle.Ends
	gangs       gangs
	labels      label.Planner
	nodes       node.Nodes
	preemptions preemptions
	queues      queues
	reports     node.Reports
	requests    requests
}

// New returns a Planner that takes over st. It fails if the queue configuration in st cannot be
// read. That cannot happen to a configuration that was validated.
func New(st *state.State, opt Options) (*Planner, error) {
	if opt.Level == 0 {
		opt.Level = event.Level
	}
	sched, err := scheduler.New(st, opt.Eager)
	if err != nil {
		return nil, err
	}
	return newPlanner(sched, opt), nil
}

// newPlanner returns a planner that has seen no call of an AM and no report of a node.
func newPlanner(sched *scheduler.Scheduler, opt Options) *Planner {
	p := &Planner{sched: sched, st: sched.State, opt: opt, ends: lifecycle.New(sched), labels: label.New(sched)}
	sizes, askLabels := sizeRules{sched.Views}, labelRules{sched.Views}
	resizes := resizes{sched: sched, st: p.st, sizes: sizes}
	p.cluster = cluster{sched: sched, st: p.st, level: opt.Level}
	p.requests = requests{sched: sched, st: p.st}
	p.preemptions = preemptions{sched: sched, st: p.st, ends: p.ends, rounds: preemption.NewRounds(sched)}
	p.containers = containers{sched: sched, st: p.st, ends: p.ends, resizes: resizes}
	p.nodes = node.New(sched, p.ends)
	p.reports = node.NewReports(sched, p.ends)
	p.dynamic = dynamicQueues{sched: sched, st: p.st}
	p.queues = queues{sched: sched, st: p.st, ends: p.ends, labels: p.labels, dynamic: p.dynamic}
	p.gangs = gangs{sched: sched, st: p.st, ends: p.ends}
	p.attempts = attempts{sched: sched, st: p.st, ends: p.ends, sizes: sizes, gangs: p.gangs, resizes: resizes,
		asks: asks{sched: sched, st: p.st, sizes: sizes, labels: askLabels}, answers: answers{sched.Views}}
	p.apps = applications{sched: sched, st: p.st, ends: p.ends, sizes: sizes, labels: askLabels, gangs: p.gangs,
		destinations: destinations{sched.Views}, dynamic: p.dynamic}
	return p
}

// Fork returns a planner on a fork of the state, which has seen no call of an AM and no report of a
// node. It costs much less than New.
func (p *Planner) Fork() *Planner { return newPlanner(p.sched.Fork(), p.opt) }

// Twin returns a planner on a fork of the planning state that knows what p knows and must make the
// same decisions. It serves to check p.
func (p *Planner) Twin() (*Planner, error) {
	q, err := New(p.st.Fork(), p.opt)
	if err == nil {
		q.attempts.windows, q.apps.ids = slices.Clone(p.attempts.windows), p.apps.ids
		q.sched.GoOnLike(p.sched)
	}
	return q, err
}

// State returns the planning state. The caller must not change it. The next Plan changes it.
func (p *Planner) State() *state.State { return p.st }

// Scheduler returns the scheduler of the planning state. The caller may only read.
func (p *Planner) Scheduler() *scheduler.Scheduler { return p.sched }

// Config returns the queue configuration in force; nil before the cluster is initialized.
func (p *Planner) Config() *capacity.Config { return p.sched.Config }

// Plan handles one request. nowMillis is the time in Unix milliseconds. The events have already
// been applied to State. Their slice is valid until the next Plan. Without events there is nothing
// to write to the log: the request was refused, or changed nothing.
func (p *Planner) Plan(nowMillis int64, req input.Request) (input.Reply, []event.Event) {
	p.sched.Begin(nowMillis)
	if req.Key != "" {
		if reply, done := p.requests.remembered(req); done {
			return reply, nil
		}
	}
	reply := p.planFor(req.Caller, req.Input)
	p.sched.RunEagerPasses()
	for p.preemptions.endRecalled() {
		p.sched.RunEagerPasses()
	}
	if req.Key != "" && len(p.sched.Events()) > 0 && reply.Refused() == nil {
		p.requests.remember(req, reply)
	}
	return reply, p.sched.Events()
}

// Changes returns what the events of the last Plan did. The slice is valid until the next Plan.
func (p *Planner) Changes() []change.Change { return p.sched.Changes() }

// planFor plans an input. If it is an operation and has a caller, planFor also records it in the
// audit.
func (p *Planner) planFor(c input.Caller, in input.Input) input.Reply {
	if p.Config() == nil {
		return p.plan(in)
	}
	operation, recorded := audit.Begin(p.st, c, in)
	reply := p.plan(in)
	if recorded && reply.Refused() == nil {
		if e := operation.Done(p.st, p.sched.Events()); e != nil {
			p.sched.Emit(e)
		}
	}
	return reply
}

// plan calls the method that handles an input.
func (p *Planner) plan(in input.Input) input.Reply {
	if p.Config() == nil {
		if i, ok := in.(*input.InitCluster); ok {
			return p.initCluster(i)
		}
		return input.Refuse(in, input.NoFirstQueues())
	}
	switch in := in.(type) {
	case *input.NodeHeartbeat:
		return p.reports.Heartbeat(in)
	case *input.Allocate:
		return p.confirmRefusal(p.attempts.allocate(in))
	case *input.PreemptionRound:
		return p.preemptions.round(in)
	case *input.RemoveIdleQueues:
		return p.dynamic.removeIdle(in)
	case *input.ManageQueues:
		return p.dynamic.manage(in)
	case *input.NodesHeard:
		return p.reports.Heard(in)
	case *input.NodeSilence:
		return p.reports.Silence(in)
	case *input.RegisterNode:
		return p.reports.Register(in)
	case *input.SubmitApplication:
		return p.apps.submit(in)
	case *input.RegisterAttempt:
		return p.confirmRefusal(p.attempts.register(in))
	case *input.FinishAttempt:
		return p.confirmRefusal(p.attempts.finish(in))
	case *input.KillApplication:
		return p.apps.kill(in)
	case *input.MoveApplication:
		return p.apps.move(in)
	case *input.SetPriority:
		return p.apps.setPriority(in)
	case *input.CancelReservation:
		return p.containers.cancelReservation(in)
	case *input.NewApplication:
		return p.apps.newID(in)
	case *input.AttemptLaunched:
		return p.attempts.launched(in)
	case *input.AttemptLaunchFailed:
		return p.attempts.launchFailed(in)
	case *input.SetLifetime:
		return p.apps.setLifetime(in)
	case *input.SetGang:
		return p.gangs.set(in)
	case *input.FailAttempt:
		return p.attempts.fail(in)
	case *input.ExpireNode:
		return p.nodes.Expire(in)
	case *input.ExpireAttempt:
		return p.attempts.expire(in)
	case *input.DrainNode:
		return p.nodes.Drain(in)
	case *input.DrainNodes:
		return p.nodes.DrainAll(in)
	case *input.SetHosts:
		return p.nodes.SetHosts(in)
	case *input.SignalContainer:
		return p.containers.signal(in)
	case *input.ExpireContainers:
		return p.containers.expire(in)
	case *input.ForgetNode:
		return p.nodes.Forget(in)
	case *input.SetLabels:
		return p.labels.Set(in)
	case *input.RemoveLabels:
		return p.labels.Remove(in)
	case *input.LabelNodes:
		return p.labels.LabelNodes(in)
	case *input.SetNodeResource:
		return p.nodes.SetResource(in)
	case *input.UnregisterNode:
		return p.reports.Unregister(in)
	case *input.SetQueues:
		return p.queues.set(in)
	case *input.RollbackQueues:
		return p.queues.rollback(in)
	case *input.AdoptQueue:
		return p.queues.adopt(in)
	case *input.SetQueueState:
		return p.queues.setState(in)
	case *input.Tick:
		return p.tick(in)
	case *input.SetAutopilot:
		return p.cluster.setAutopilot(in)
	case *input.IssueDelegationToken, *input.RenewDelegationToken, *input.CancelDelegationToken,
		*input.CreateJoinToken, *input.UseJoinToken, *input.SetAccessToken, *input.RevokeAccessToken:
		return p.tokens().Input(in)
	case *input.TokenRenewed, *input.TokenCallFailed, *input.TokenCancelled, *input.TokensFetched, *input.TokenFetchFailed:
		return renewals(p.sched, p.ends).Input(in)
	case *input.RaiseLevel:
		return p.cluster.raiseLevel(in)
	case *input.RaiseEpoch:
		return p.cluster.raiseEpoch(in)
	case *input.Audit:
		p.sched.Emit(audit.Entry(in))
		return in.NewReply()
	case *input.InitCluster:
		return input.Refuse(in, input.Refusef(input.AlreadyDone, "", "the cluster is initialized as %s", p.st.Meta.ClusterID))
	}
	return input.Refuse(in, input.Refusef(input.InvalidRequest, "upgrade the leader",
		"the leader does not know input %d", in.Kind()))
}

// initCluster plans the first input of all. The others are refused until then.
func (p *Planner) initCluster(in *input.InitCluster) input.Reply {
	reply := p.queues.first(in)
	if reply.Refused() == nil {
		p.nodes.ListHosts(in.Include, in.Exclude)
		p.tokens().RollKeys(in.Entropy)
	}
	return reply
}

// tokens returns what plans the tokens that the cluster issues.
func (p *Planner) tokens() token.Plan {
	return token.Plan{State: p.st, Settings: &p.sched.Config.Tokens, NowMillis: p.sched.Now(), Emit: p.sched.Emit}
}

// confirmRefusal delays a refusal to an AM until an entry of this leader is committed. The refusal
// would make the AM stop or start over, and a leader that was deposed without knowing it could be
// wrong.
func (p *Planner) confirmRefusal(r input.Reply) input.Reply {
	if r.Refused() != nil {
		p.sched.Barrier()
	}
	return r
}
