package planner

import (
	"errors"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/scheduler/preemption"
	"rmd/yarn"
)

func (p *Planner) initCluster(in *input.InitCluster) input.Reply {
	if in.ClusterID == "" || in.ClusterTimestamp <= 0 {
		return input.Refuse(in, input.Faultf(input.InvalidRequest, "", "a cluster needs an id and a timestamp"))
	}
	cfg, fault := p.parseQueues(in.Properties)
	if fault != nil {
		return input.Refuse(in, fault)
	}
	states, _, fault := p.statesFor(cfg)
	if fault != nil {
		return input.Refuse(in, fault)
	}
	p.sched.Emit(&event.ClusterInitialized{ClusterID: in.ClusterID, ClusterTimestamp: in.ClusterTimestamp, Level: event.Level})
	p.sched.Emit(p.configured(cfg, states, 1, "", "first configuration"))
	p.nodes.listHosts(in.Include, in.Exclude)
	p.rollKeys(in.Entropy)
	return &input.SetQueuesReply{Version: 1, Warnings: warningsOf(cfg)}
}

func (p *Planner) parseQueues(props []input.Property) (*capacity.Config, *input.Fault) {
	list := make([]capacity.Property, len(props))
	for i, q := range props {
		list[i] = capacity.Property(q)
	}
	cfg, err := capacity.Parse(list)
	if err != nil {
		return nil, invalidQueues(err)
	}
	return cfg, nil
}

func invalidQueues(err error) *input.Fault {
	f := input.Faultf(input.InvalidQueues, "nothing was changed", "the queue configuration is invalid")
	var invalid *capacity.Invalid
	if errors.As(err, &invalid) {
		for _, x := range invalid.Faults {
			f.Details = append(f.Details, x.String())
		}
	} else {
		f.Details = []string{err.Error()}
	}
	return f
}

func warningsOf(cfg *capacity.Config) []string {
	var out []string
	for _, w := range cfg.Warnings {
		out = append(out, w.String())
	}
	return out
}

// configured returns the event for a configuration and the states of its queues.
func (p *Planner) configured(cfg *capacity.Config, states []yarn.QueueState, version uint64, author, comment string) *event.QueuesConfigured {
	e := &event.QueuesConfigured{Version: version, Kinds: cfg.Kinds, Dominant: cfg.Calculator.Dominant, Author: author, Comment: comment}
	for _, q := range cfg.Properties() {
		e.Properties = append(e.Properties, event.Property{Name: q.Name, Value: q.Value})
	}
	for i := range cfg.Queues {
		q := &cfg.Queues[i]
		if q.Creation != capacity.Static {
			continue // dynamic queues are not part of the event
		}
		e.Queues = append(e.Queues, event.QueueDefinition{Path: q.Path, Leaf: q.Leaf, State: states[i]})
	}
	return e
}

func (p *Planner) setQueues(in *input.SetQueues) input.Reply {
	if in.User != "" && !p.Config().QueueAdminsChange { // refuse it before parsing, which takes time
		return input.Refuse(in, input.Faultf(input.NotAllowed, "use the role operator, or set "+capacity.MutationPolicyKey+" and yarn.acl.enable",
			"user %s may not change the queue configuration", in.User))
	}
	v := p.st.Versions.Current()
	if in.IfVersion != 0 && in.IfVersion != v.Version {
		return input.Refuse(in, input.Faultf(input.VersionConflict, "read it again with \"rmd conf get\" and repeat the change",
			"version %d is in force, not %d", v.Version, in.IfVersion))
	}
	cfg, fault := p.parseQueues(in.Properties)
	var removed []string
	if fault == nil {
		cfg, removed, fault = p.withDynamic(cfg)
	}
	if fault == nil {
		fault = p.mayChange(cfg, in)
	}
	if fault == nil {
		fault = p.replaceable(cfg)
	}
	var states []yarn.QueueState
	var notes []string
	if fault == nil {
		states, notes, fault = p.statesFor(cfg)
	}
	if fault != nil {
		return input.Refuse(in, fault)
	}
	notes = append(notes, p.dynamicNotes(cfg, removed)...)
	reply := &input.SetQueuesReply{Version: v.Version, Warnings: append(notes, warningsOf(cfg)...)}
	if in.DryRun {
		return reply
	}
	reply.Version++
	if len(removed) > 0 {
		p.sched.Emit(&event.QueuesRemoved{Paths: removed})
	}
	p.sched.Emit(p.configured(cfg, states, reply.Version, in.Author, in.Comment))
	p.stateDynamic(cfg, states)
	p.reconfigured()
	return reply
}

// mayChange refuses changes that an administrator of queues may not make.
func (p *Planner) mayChange(cfg *capacity.Config, in *input.SetQueues) *input.Fault {
	if in.User == "" {
		return nil
	}
	if key, ok := p.Config().MayChange(cfg, in.User, in.Groups...); !ok {
		return input.Faultf(input.NotAllowed, "leave it as it is, or ask for the queue's acl_administer_queue", "user %s does not administer what %s belongs to", in.User, key)
	}
	return nil
}

// stateDynamic changes the states of dynamic queues to those under a new configuration.
func (p *Planner) stateDynamic(cfg *capacity.Config, states []yarn.QueueState) {
	for i := range cfg.Queues {
		if q := &cfg.Queues[i]; q.Creation != capacity.Static && p.st.Queues.Get(p.st.Queues.Find(q.Path)).State != states[i] {
			p.sched.Emit(&event.QueueStateChanged{Path: q.Path, State: states[i]})
		}
	}
}

func (p *Planner) replaceable(cfg *capacity.Config) *input.Fault {
	stopped := func(path string) bool {
		slot := p.st.Queues.Find(path)
		return slot == 0 || p.st.Queues.Get(slot).State == yarn.QueueStopped
	}
	if err := cfg.Validate(p.Config(), p.ends.HoldsApps, stopped); err != nil {
		return invalidQueues(err)
	}
	if err := p.checkLabelSettings(cfg); err != nil {
		return invalidQueues(err)
	}
	return nil
}

// reconfigured does what a new configuration may require: AM limits and limits on parallel
// applications may be higher, a reservation may be larger than its node if more kinds of resources
// count, and eager cancellation cancels what lazy cancellation had left to node heartbeats.
func (p *Planner) reconfigured() {
	if !p.Config().Preemption.Enabled {
		preemption.Stop(p.sched)
	}
	p.manageAfresh()
	p.cancelUnservable()
	p.sched.ActivateAll()
	p.sched.StartNonRunnable()
}

func (p *Planner) cancelUnservable() {
	var nodes []state.NodeSlot
	p.st.Reservations.Each(func(_ state.ReservationSlot, r *state.Reservation) bool { nodes = append(nodes, r.Node); return true })
	for _, n := range nodes {
		p.sched.CancelUnservable(n)
	}
}

func (p *Planner) rollbackQueues(in *input.RollbackQueues) input.Reply {
	for _, v := range p.st.Versions {
		if v.Version != in.To {
			continue
		}
		set := &input.SetQueues{Author: in.Author, Comment: in.Comment}
		for _, q := range v.Properties {
			set.Properties = append(set.Properties, input.Property{Name: q.Name, Value: q.Value})
		}
		return p.setQueues(set)
	}
	return input.Refuse(in, input.Faultf(input.NoSuchVersion, "see \"rmd conf history\"", "version %d is not kept", in.To))
}

// setQueueState stops or starts a queue. Stopping a parent stops all queues below it. A queue with
// applications drains first. The configuration does not change. The state remains until the queue
// is started, or until a new configuration sets it (statesFor).
func (p *Planner) setQueueState(in *input.SetQueueState) input.Reply {
	i, err := p.Config().Lookup(in.Queue)
	if err != nil {
		return input.Refuse(in, input.Faultf(input.NoSuchQueue, "see \"rmd queue list\"", "%v", err))
	}
	q := p.sched.Queue(int32(i))
	switch in.State {
	case yarn.QueueStopped:
		p.stopQueue(int32(i))
		p.ends.StopDrained(int32(i))
	case yarn.QueueRunning:
		if parent := int32(p.Config().Queues[i].Parent); parent >= 0 && p.sched.Queue(parent).State != yarn.QueueRunning {
			return input.Refuse(in, input.Faultf(input.QueueStopped, "start the parent first", "the parent of %s is not RUNNING", q.Path))
		}
		p.ends.SetQueueState(int32(i), yarn.QueueRunning)
	default:
		return input.Refuse(in, input.Faultf(input.InvalidRequest, "RUNNING or STOPPED", "a queue cannot be set to %s", in.State))
	}
	return in.NewReply()
}

func (p *Planner) stopQueue(i int32) {
	for _, c := range p.Config().Queues[i].Children {
		p.stopQueue(int32(c))
	}
	to := yarn.QueueStopped
	if p.ends.HoldsApps(p.Config().Queues[i].Path) {
		to = yarn.QueueDraining
	}
	p.ends.SetQueueState(i, to)
}
