package server

import (
	"errors"
	"sync"
	"time"

	"rmd/analysis/whatif"
	"rmd/api"
	"rmd/fsm/state"
	"rmd/internal/job"
	"rmd/internal/sleep"
	"rmd/leader"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/server/hadoop"
	"rmd/transport/http/problem"
)

// seeding has the queues of an explicit init, and why the first configuration of the cluster was
// refused.
type seeding struct {
	init sync.Mutex // held during an init, so that a refused one leaves nothing to another

	mu      sync.Mutex
	queues  []capacity.Property
	refused *api.Error
}

func (s *seeding) setQueues(queues []capacity.Property) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queues = queues
}

func (s *seeding) firstQueues() []capacity.Property {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queues
}

func (s *seeding) refuse(e *api.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = e
}

// refusal returns why the cluster has no first configuration, or nil.
func (s *seeding) refusal() *api.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// seed gives a new cluster its identity and its first queues. Each leader calls it. In an existing
// cluster it only records a recovery in the audit log, if there was one.
func (r *Replica) seed(term uint64) {
	for r.ctx.Err() == nil && r.cluster.IsLeader() && r.cluster.Term() == term {
		if _, ok := r.seq.Leading(); !ok {
			sleep.For(r.ctx, 2*time.Millisecond)
			continue
		}
		if st, _ := r.machine.Fork(); st.Meta.ClusterID != "" {
			_ = r.jobs.Job(job.Init).Done(nil)
			r.noteRecovery()
			return
		}
		in, err := r.firstInput(r.cluster.ClusterID(), r.seeding.firstQueues())
		if err != nil {
			r.refuseSeed(err)
			return
		}
		reply, _, err := r.seq.Do(r.ctx, input.Request{Input: in})
		switch {
		case errors.Is(err, leader.ErrTooLarge), errors.Is(err, leader.ErrPlanner):
			r.refuseSeed(err) // it would end each leadership again
			return
		case err != nil:
			sleep.For(r.ctx, 10*time.Millisecond)
		case reply.Refused() != nil && reply.Refused().Reason != input.AlreadyDone:
			r.refuseSeed(reply.Refused())
			return
		default:
			r.seeding.refuse(nil)
			_ = r.jobs.Job(job.Init).Done(nil)
			r.log.Info("cluster initialized", "cluster", in.ClusterID)
			return
		}
	}
}

// firstInput returns the input that gives a new cluster its identity and its first configuration.
func (r *Replica) firstInput(clusterID string, queues []capacity.Property) (*input.InitCluster, error) {
	props, err := r.firstQueues(queues)
	if err != nil {
		return nil, err
	}
	hosts := r.firstHosts()
	return &input.InitCluster{ClusterID: clusterID, ClusterTimestamp: r.parts.Now().UnixMilli(), Properties: props,
		Entropy: r.parts.Entropy(),
		Include: hosts.Include, Exclude: hosts.Exclude}, nil
}

// checkFirst returns why the planner would refuse the first configuration of a cluster, or nil.
func (r *Replica) checkFirst(queues []capacity.Property) error {
	in, err := r.firstInput("check", queues)
	if err == nil {
		err = whatif.Try(state.New(), in)
	}
	if err != nil {
		return unreadable(err)
	}
	return nil
}

// unreadable returns the answer for a first configuration that cannot be read or that the planner
// refuses.
func unreadable(err error) *api.Error {
	e := problem.New(string(input.InvalidQueues), "the first configuration of the cluster is refused: "+err.Error(),
		"correct the queue configuration; the cluster has no other problem")
	var fault *input.Refusal
	if errors.As(err, &fault) {
		e.Message, e.Details = "the first configuration of the cluster is refused: "+fault.What, fault.Details
	}
	return e
}

// refuseSeed records that this leader cannot give the cluster its first configuration.
func (r *Replica) refuseSeed(err error) {
	e := unreadable(err)
	e.Remedy = "correct the queue configuration of " + r.ID() + ", and restart it"
	r.seeding.refuse(e)
	_ = r.jobs.Job(job.Init).Done(err)
	r.log.Error("the first configuration of the cluster is refused; correct it, and restart this replica", "error", err,
		"details", e.Details)
}

// firstHosts returns the include and exclude lists of Hadoop's files.
func (r *Replica) firstHosts() *input.SetHosts {
	if r.opt.Config.HadoopConfDir == "" {
		return &input.SetHosts{}
	}
	hosts, err := hadoop.HostsOf(r.opt.Config.HadoopConfDir)
	if err != nil {
		r.log.Error("the lists of hosts are not in force; run \"yarn rmadmin -refreshNodes\"", "error", err)
		return &input.SetHosts{}
	}
	return hosts
}

// noteRecovery records a recovery by "rmd recover" in the audit log. The recovery itself could not,
// since it ran offline.
func (r *Replica) noteRecovery() {
	id := r.cluster.Identity()
	if id.Recovered == nil {
		return
	}
	in := &input.Audit{Who: id.Recovered.By, From: id.ID + "'s disk", Action: "recover", Target: id.ClusterID,
		Result: "done at " + id.Recovered.At.Format(time.RFC3339)}
	_, _, err := r.seq.Do(r.ctx, input.Request{Input: in})
	if err == nil {
		err = r.cluster.RecoveryNoted()
	}
	if r.jobs.Job(job.Audit).Done(err) != nil {
		r.log.Warn("the recovery is not in the audit yet; the next election tries again", "error", err)
	}
}

// firstQueues returns the queue configuration of an explicit init. Without one it returns that of
// Options, then that of Hadoop's files, then root.default.
func (r *Replica) firstQueues(props []capacity.Property) ([]input.Property, error) {
	if props == nil {
		props = r.opt.Queues
	}
	if props == nil {
		var err error
		if props, err = hadoop.QueuesOf(r.opt.Config.HadoopConfDir); err != nil {
			return nil, err
		}
	}
	out := make([]input.Property, len(props))
	for i, p := range props {
		out[i] = input.Property(p)
	}
	return out, nil
}
