package planner

import (
	"errors"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/scheduler/planner/label"
	"rmd/scheduler/planner/lifecycle"
	"rmd/scheduler/preemption"
	"rmd/yarn"
)

// queues sets the configuration of the queues, and their states.
type queues struct {
	sched   *scheduler.Scheduler
	st      *state.State
	ends    lifecycle.Ends
	labels  label.Planner
	dynamic dynamicQueues
}

func (qs *queues) first(in *input.InitCluster) input.Reply {
	if in.ClusterID == "" || in.ClusterTimestamp <= 0 {
		return input.Refuse(in, input.Refusef(input.InvalidRequest, "", "a cluster needs an id and a timestamp"))
	}
	cfg, fault := parseQueues(in.Properties)
	if fault != nil {
		return input.Refuse(in, fault)
	}
	states, _, fault := qs.statesFor(cfg)
	if fault != nil {
		return input.Refuse(in, fault)
	}
	qs.sched.Emit(&event.ClusterInitialized{ClusterID: in.ClusterID, ClusterTimestamp: in.ClusterTimestamp,
		Level: event.Level})
	qs.sched.Emit(qs.configured(cfg, states, 1, "", "first configuration"))
	return &input.SetQueuesReply{Version: 1, Warnings: warningsOf(cfg)}
}

func parseQueues(props []input.Property) (*capacity.Config, *input.Refusal) {
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

func invalidQueues(err error) *input.Refusal {
	f := input.Refusef(input.InvalidQueues, "nothing was changed", "the queue configuration is invalid")
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
func (qs *queues) configured(cfg *capacity.Config, states []yarn.QueueState, version uint64, author,
	comment string) *event.QueuesConfigured {
	e := &event.QueuesConfigured{Version: version, Kinds: cfg.Kinds, Dominant: cfg.Calculator.Dominant, Author: author,
		Comment: comment}
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

func (qs *queues) set(in *input.SetQueues) input.Reply {
	if in.User != "" && !qs.sched.Config.QueueAdminsChange { // refuse it before parsing, which takes time
		return input.Refuse(in, input.Refusef(input.NotAllowed,
			"use the role operator, or set "+capacity.MutationPolicyKey+" and yarn.acl.enable",
			"user %s may not change the queue configuration", in.User))
	}
	v := qs.st.Versions.Current()
	if in.IfVersion != 0 && in.IfVersion != v.Version {
		return input.Refuse(in, input.Refusef(input.VersionConflict,
			"read it again with \"rmd conf get\" and repeat the change",
			"version %d is in force, not %d", v.Version, in.IfVersion))
	}
	cfg, fault := parseQueues(in.Properties)
	var removed []string
	if fault == nil {
		cfg, removed, fault = qs.withDynamic(cfg)
	}
	if fault == nil {
		fault = qs.mayChange(cfg, in)
	}
	if fault == nil {
		fault = qs.replaceable(cfg)
	}
	var states []yarn.QueueState
	var notes []string
	if fault == nil {
		states, notes, fault = qs.statesFor(cfg)
	}
	if fault != nil {
		return input.Refuse(in, fault)
	}
	notes = append(notes, qs.dynamicNotes(cfg, removed)...)
	reply := &input.SetQueuesReply{Version: v.Version, Warnings: append(notes, warningsOf(cfg)...)}
	if in.DryRun {
		return reply
	}
	reply.Version++
	if len(removed) > 0 {
		qs.sched.Emit(&event.QueuesRemoved{Paths: removed})
	}
	qs.sched.Emit(qs.configured(cfg, states, reply.Version, in.Author, in.Comment))
	qs.stateDynamic(cfg, states)
	qs.reconfigured()
	return reply
}

// mayChange refuses changes that an administrator of queues may not make.
func (qs *queues) mayChange(cfg *capacity.Config, in *input.SetQueues) *input.Refusal {
	if in.User == "" {
		return nil
	}
	if key, ok := qs.sched.Config.MayChange(cfg, in.User, in.Groups...); !ok {
		return input.Refusef(input.NotAllowed, "leave it as it is, or ask for the queue's acl_administer_queue",
			"user %s does not administer what %s belongs to", in.User, key)
	}
	return nil
}

// stateDynamic changes the states of dynamic queues to those under a new configuration.
func (qs *queues) stateDynamic(cfg *capacity.Config, states []yarn.QueueState) {
	for i := range cfg.Queues {
		if q := &cfg.Queues[i]; q.Creation != capacity.Static &&
			qs.st.Queues.Get(qs.st.Queues.Find(q.Path)).State != states[i] {
			qs.sched.Emit(&event.QueueStateChanged{Path: q.Path, State: states[i]})
		}
	}
}

func (qs *queues) replaceable(cfg *capacity.Config) *input.Refusal {
	stopped := func(path string) bool {
		slot := qs.st.Queues.Find(path)
		return slot == 0 || qs.st.Queues.Get(slot).State == yarn.QueueStopped
	}
	if err := cfg.Validate(qs.sched.Config, qs.ends.HoldsApps, stopped); err != nil {
		return invalidQueues(err)
	}
	if err := qs.labels.CheckSettings(cfg); err != nil {
		return invalidQueues(err)
	}
	return nil
}

// reconfigured does what a new configuration may require: AM limits and limits on parallel
// applications may be higher, a reservation may be larger than its node if more kinds of resources
// count, and eager cancellation cancels what lazy cancellation had left to node heartbeats.
func (qs *queues) reconfigured() {
	if !qs.sched.Config.Preemption.Enabled {
		preemption.Stop(qs.sched)
	}
	qs.dynamic.manageAfresh()
	qs.sched.CancelAllUnservable()
	qs.sched.ActivateAll()
	qs.sched.StartNonRunnable()
}

func (qs *queues) rollback(in *input.RollbackQueues) input.Reply {
	for _, v := range qs.st.Versions {
		if v.Version != in.To {
			continue
		}
		set := &input.SetQueues{Author: in.Author, Comment: in.Comment}
		for _, q := range v.Properties {
			set.Properties = append(set.Properties, input.Property{Name: q.Name, Value: q.Value})
		}
		return qs.set(set)
	}
	return input.Refuse(in, input.Refusef(input.NoSuchVersion, "see \"rmd conf history\"",
		"version %d is not kept", in.To))
}

// setState stops or starts a queue. Stopping a parent stops all queues below it. A queue with
// applications drains first. The configuration does not change. The state remains until the queue
// is started, or until a new configuration sets it (statesFor).
func (qs *queues) setState(in *input.SetQueueState) input.Reply {
	i, err := qs.sched.Config.Lookup(in.Queue)
	if err != nil {
		return input.Refuse(in, input.Refusef(input.NoSuchQueue, "see \"rmd queue list\"", "%v", err))
	}
	q := qs.sched.Queue(int32(i))
	switch in.State {
	case yarn.QueueStopped:
		qs.stop(int32(i))
		qs.ends.StopDrained(int32(i))
	case yarn.QueueRunning:
		if parent := int32(qs.sched.Config.Queues[i].Parent); parent >= 0 &&
			qs.sched.Queue(parent).State != yarn.QueueRunning {
			return input.Refuse(in, input.Refusef(input.QueueStopped, "start the parent first",
				"the parent of %s is not RUNNING", q.Path))
		}
		qs.ends.SetQueueState(int32(i), yarn.QueueRunning)
	default:
		return input.Refuse(in, input.Refusef(input.InvalidRequest, "RUNNING or STOPPED",
			"a queue cannot be set to %s", in.State))
	}
	return in.NewReply()
}

func (qs *queues) stop(i int32) {
	for _, c := range qs.sched.Config.Queues[i].Children {
		qs.stop(int32(c))
	}
	to := yarn.QueueStopped
	if qs.ends.HoldsApps(qs.sched.Config.Queues[i].Path) {
		to = yarn.QueueDraining
	}
	qs.ends.SetQueueState(i, to)
}
