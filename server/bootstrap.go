package server

import (
	"time"

	"rmd/internal/job"
	"rmd/internal/sleep"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/server/hadoop"
)

// seed gives a new cluster its identity and its first queues. Each leader calls it. In an existing
// cluster it only records a recovery in the audit log, if there was one.
func (r *Replica) seed(term uint64) {
	first := r.jobs.Job(job.Init)
	for r.ctx.Err() == nil && r.cluster.IsLeader() && r.cluster.Term() == term {
		if _, ok := r.seq.Leading(); !ok {
			sleep.For(r.ctx, 2*time.Millisecond)
			continue
		}
		if st, _ := r.machine.Fork(); st.Meta.ClusterID != "" {
			_ = first.Done(nil)
			r.noteRecovery()
			return
		}
		props, err := r.firstQueues()
		if first.Done(err) != nil {
			r.log.Error("the queue configuration cannot be read; the cluster stays without queues", "error", err)
			return
		}
		hosts := r.firstHosts()
		in := &input.InitCluster{ClusterID: r.cluster.ClusterID(), ClusterTimestamp: r.parts.Now().UnixMilli(), Properties: props, Entropy: r.parts.Entropy(),
			Include: hosts.Include, Exclude: hosts.Exclude}
		reply, _, err := r.seq.Do(r.ctx, input.Request{Input: in})
		switch {
		case err != nil:
			sleep.For(r.ctx, 10*time.Millisecond)
		case reply.Refused() != nil && reply.Refused().Reason != input.AlreadyDone:
			_ = first.Done(reply.Refused())
			r.log.Error("the first configuration of the cluster is refused", "error", reply.Refused(), "details", reply.Refused().Details)
			return
		default:
			r.log.Info("cluster initialized", "cluster", in.ClusterID)
			return
		}
	}
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
	in := &input.Audit{Who: id.Recovered.By, From: id.ID + "'s disk", Action: "recover", Target: id.ClusterID, Result: "done at " + id.Recovered.At.Format(time.RFC3339)}
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
func (r *Replica) firstQueues() ([]input.Property, error) {
	var props []capacity.Property
	select {
	case props = <-r.seeds:
	default:
	}
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
