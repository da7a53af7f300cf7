package metrics

import (
	"context"
	"math/big"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"rmd/api"
	"rmd/fsm/apptoken"
	"rmd/fsm/state"
	"rmd/internal/boolint"
	"rmd/transport/http/summary"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// stateDescs has what desc has described.
var stateDescs []*prometheus.Desc

// These metrics are read from the state on each scrape.
var (
	descLevel   = desc("rmd_feature_level", "Current feature level.")
	descLeader  = desc("rmd_raft_leader", "1 on the leader.")
	descTerm    = desc("rmd_raft_term", "Raft term of this replica.")
	descCommit  = desc("rmd_raft_commit_index", "Commit index of this replica.")
	descApplied = desc("rmd_raft_applied_index", "Applied index of this replica.")
	descLag     = desc("rmd_raft_peer_lag", "Number of entries that the replica peer lags behind.", "peer")
	descContact = desc("rmd_raft_last_contact_seconds",
		"Time since the replica peer last heard from the leader.", "peer")
	descApps      = desc("rmd_apps", "Number of applications.", "queue", "state")
	descSubmitted = desc("rmd_apps_submitted_total", "Applications submitted since the cluster was created.")
	descEnded     = desc("rmd_apps_ended_total",
		"Applications that have ended since the cluster was created, by their final state.", "state")
	descWaiting = desc("rmd_apps_waiting", "Number of applications whose AM has not registered, by the reason.",
		"queue", "reason")
	descQueue = desc("rmd_queue_resource",
		"Resources of a queue; kind is guaranteed, used, reserved, pending or max.", "queue", "partition", "resource", "kind")
	descPartition = desc("rmd_partition_resource",
		"Resources of the nodes of one label; partition is empty for nodes without a label; kind is total, used, free, held_free, usable, reserved or pending.", "partition", "resource", "kind")
	descAMRatio   = desc("rmd_queue_am_used_ratio", "Used part of a leaf queue's limit for AMs.", "queue", "partition")
	descReserved  = desc("rmd_reservations", "Current reservations.", "queue")
	descLeases    = desc("rmd_leases", "Containers that run in room which reservations have lent.")
	descAge       = desc("rmd_reservation_age_seconds", "Ages of the current reservations.")
	descIdle      = desc("rmd_reserved_idle_resource", "Free resources on reserved nodes.", "resource")
	descCancelled = desc("rmd_reservation_cancelled_total",
		"Cancelled reservations since the cluster was created.", "cause")
	descPreempted = desc("rmd_preempted_total",
		"Preempted containers since the cluster was created, by the cause of the preemption.", "cause")
	descLost = desc("rmd_preempted_resource_seconds_total",
		"Resource-seconds that preempted containers had used, since the cluster was created.", "resource")
	descUnused = desc("rmd_preempted_unused_total",
		"Containers that were preempted for a reservation which was cancelled afterwards, by the cause of the cancellation.",
		"cause")
	descWarnings = desc("rmd_preemption_warnings",
		"Running containers that are warned of their preemption, by their queue.", "queue")
	descWithdrawn = desc("rmd_preemption_withdrawn_total", "Withdrawn warnings since the cluster was created.", "cause")
	descNodes     = desc("rmd_nodes", "Number of nodes.", "state", "partition")
	descEmpty     = desc("rmd_nodes_empty",
		"Number of nodes that take containers and have neither a container nor a reservation.", "partition")
	descSilent = desc("rmd_nodes_silent",
		"Nodes that have missed heartbeats and get no containers until they are heard again.", "partition")
	descLargest = desc("rmd_largest_fit",
		"Largest free amount on one node that can take a container and is not reserved.", "resource", "partition")
	descBlocked = desc("rmd_blocked_by_reservations",
		"Free resources that nobody may use, because what is reserved on other nodes counts as used.",
		"resource", "partition")
	descCanLose = desc("rmd_cluster_can_lose",
		"Number of voters that can fail without loss of quorum, from this replica's view.")
	descVoters    = desc("rmd_cluster_voters", "Number of voters: all, and healthy (alive and caught up).", "state")
	descStalled   = desc("rmd_raft_peer_stalled", "1 if the replica peer answers and makes no progress.", "peer")
	descUnreached = desc("rmd_raft_peer_unreached",
		"1 if the replica peer answers and this replica cannot open a new connection to it, which an election needs.", "peer")
	descJobRuns = desc("rmd_job_runs_total",
		"Ended runs of the background jobs of this replica; result is ok or error.", "name", "result")
	descJobFailing = desc("rmd_job_failing", "1 if a background job of this replica counts as failing.", "name")
	descJobSuccess = desc("rmd_job_success_timestamp_seconds",
		"Last success of a background job, in Unix time; missing if there was none.", "name")
	descIdempotency = desc("rmd_requests_remembered", "Number of answers that are stored for idempotency keys.")
	descTokens      = desc("rmd_token_expires_seconds",
		"Time until the first token of applications ends whose renewal fails. Absent if there is none.")
	descNames = desc("rmd_names", "Number of names of hosts, racks and users in the state.")
)

// desc describes a metric of the state.
func desc(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc(name, help, labels, nil)
	stateDescs = append(stateDescs, d)
	return d
}

// Source has the replica whose state is shown.
type Source struct {
	ID        string
	Views     *view.Source
	Consensus Consensus
	Logger    hclog.Logger
	// Context ends when the replica closes.
	Context context.Context
}

// Consensus gives access to the membership and leadership of the replicas.
type Consensus interface {
	Leader() (id, address string)
	Role() string
	Term() uint64
	Members(ctx context.Context) ([]api.Member, error)
	Jobs() []api.Job
}

// stateCollector collects the metrics that are read from the state.
type stateCollector struct{ m *Metrics }

func (c *stateCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range stateDescs {
		out <- d
	}
}

func (c *stateCollector) Collect(out chan<- prometheus.Metric) {
	s := c.m.shown()
	if s == nil {
		return
	}
	v := s.Views.Now()
	g := &gauges{v: v, out: out}
	g.raft(s)
	g.jobs(s.Consensus.Jobs())
	g.set(descLevel, float64(v.State.Meta.Level))
	g.set(descApplied, float64(v.Index))
	g.set(descIdempotency, float64(v.State.Requests.Len()))
	g.set(descNames, float64(v.State.Names.Len()))
	g.tokens()
	g.apps()
	g.queues()
	g.partitions()
	g.reservations()
	g.preemption()
	g.nodes()
}

// tokens shows how near the first token of applications is to its end that cannot be renewed now.
func (g *gauges) tokens() {
	first := int64(apptoken.Never)
	for t := range g.v.State.AppTokens.Tokens() {
		if t.Phase == apptoken.Kept && t.Failures > 0 {
			first = min(first, t.EndMillis)
		}
	}
	if first != apptoken.Never {
		g.set(descTokens, time.Until(time.UnixMilli(first)).Seconds())
	}
}

type gauges struct {
	v   *view.View
	out chan<- prometheus.Metric
}

func (g *gauges) set(d *prometheus.Desc, value float64, labels ...string) {
	g.out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

func (g *gauges) count(d *prometheus.Desc, value float64, labels ...string) {
	g.out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, value, labels...)
}

// membersTimeout is the most time to wait for the other replicas.
const membersTimeout = time.Second

func (g *gauges) raft(s *Source) {
	k := s.Consensus
	g.set(descLeader, boolint.Of[float64](k.Role() == "leader"))
	g.set(descTerm, float64(k.Term()))
	ctx, cancel := context.WithTimeout(s.Context, membersTimeout)
	defer cancel()
	list, err := k.Members(ctx)
	if err != nil {
		s.Logger.Debug("members not known for the metrics", "error", err)
		return
	}
	id, _ := k.Leader()
	d := view.Verdict(g.v.State.Meta.ClusterID != "", id, list)
	g.set(descCanLose, float64(d.CanLose))
	g.set(descVoters, float64(d.Voters), "all")
	g.set(descVoters, float64(d.HealthyVoters), "healthy")
	for _, m := range list {
		g.set(descLag, float64(m.Lag), m.ID)
		g.set(descStalled, boolint.Of[float64](m.Stalled != ""), m.ID)
		if m.LastContactMillis >= 0 {
			g.set(descContact, float64(m.LastContactMillis)/1000, m.ID)
		}
		if m.ID == s.ID {
			g.set(descCommit, float64(m.Commit))
			for _, other := range list {
				if other.ID != s.ID {
					g.set(descUnreached, boolint.Of[float64](m.Unreached[other.ID] != "" && other.State == "alive"), other.ID)
				}
			}
		}
	}
}

func (g *gauges) jobs(list []api.Job) {
	for _, j := range list {
		g.count(descJobRuns, float64(j.Runs-j.Failures), j.Name, "ok")
		g.count(descJobRuns, float64(j.Failures), j.Name, "error")
		g.set(descJobFailing, boolint.Of[float64](j.Problem != ""), j.Name)
		if j.SuccessMillis > 0 {
			g.set(descJobSuccess, float64(j.SuccessMillis)/1000, j.Name)
		}
	}
}

// waitingFor counts the waiting applications by reason. The reasons are coarse: they depend only on
// the state of the attempt. The explanation of an application has the exact reason.
func waitingFor(t *summary.Tally) map[string]int32 {
	out := map[string]int32{"MAX_PARALLEL_APPS": t.Waiting[state.AttemptNonRunnable],
		"AM_LIMIT":      t.Waiting[state.AttemptPending],
		"AM_NOT_PLACED": t.Unplaced, "AM_NOT_REGISTERED": t.Waiting[state.AttemptActive] - t.Unplaced}
	for at, n := range t.Waiting {
		switch state.AttemptState(at) {
		case state.AttemptNonRunnable, state.AttemptPending, state.AttemptActive:
		default:
			out["NO_ATTEMPT"] += n
		}
	}
	return out
}

func (g *gauges) apps() {
	tallies := map[string]*summary.Tally{}
	for slot := range g.v.State.Queues.Cap() { // slot 0 has the applications of queues that are gone
		t, name := g.v.Summary().Queue(slot), queueName(g.v.State, slot)
		if tallies[name] == nil {
			tallies[name] = new(summary.Tally)
		}
		tallies[name].Add(&t)
	}
	g.count(descSubmitted, float64(g.v.State.Meta.Submitted))
	ended := g.v.EndedApps()
	for s := yarn.AppFinished; s <= yarn.AppKilled; s++ {
		g.count(descEnded, float64(ended.Of(s)), s.String())
	}
	for name, t := range tallies { // the registry sorts
		for s := yarn.AppSubmitted; s <= yarn.AppKilled; s++ {
			if n := t.ByState[s]; n > 0 {
				g.set(descApps, float64(n), name, s.String())
			}
		}
		for what, n := range waitingFor(t) {
			if n > 0 {
				g.set(descWaiting, float64(n), name, what)
			}
		}
	}
}

// queueName returns the name of a queue in metrics. Dynamic queues share the name of the configured
// queue above them, followed by .*, because there may be very many and they come and go.
func queueName(st *state.State, slot state.QueueSlot) string {
	if !st.Queues.Has(slot) {
		return "" // the queue of an ended application may be gone
	}
	dynamic := ""
	for ; st.DynamicQueues.Has(slot); slot = st.Queues.Get(slot).Parent {
		dynamic = ".*"
	}
	return st.Queues.Get(slot).Path + dynamic
}

func (g *gauges) queues() {
	for _, p := range g.v.Partitions() {
		below := map[string]*queueFigures{} // of dynamic leaf queues
		g.v.State.Queues.Each(func(slot state.QueueSlot, q *state.Queue) bool {
			dynamic := g.v.State.DynamicQueues.Has(slot)
			switch name := queueName(g.v.State, slot); {
			case !p.Shows(slot):
			case !dynamic:
				g.queue(p, name, g.figures(p, slot, q))
			case q.Leaf:
				if below[name] == nil {
					below[name] = &queueFigures{}
				}
				below[name].add(g.figures(p, slot, q))
			}
			return true
		})
		for name, f := range below { // the registry sorts
			g.queue(p, name, *f)
		}
	}
}

// queueFigures has the figures of a queue, or of several dynamic leaf queues, in a partition.
type queueFigures struct {
	used, reserved, pending yarn.Resource
	configured              bool
	guaranteed, most        yarn.Resource
	leaf                    bool
	amRatio                 float64
}

func (g *gauges) figures(p *view.Partition, slot state.QueueSlot, q *state.Queue) queueFigures {
	use := p.Use(slot)
	f := queueFigures{used: use.Used, reserved: use.Reserved, pending: use.Pending}
	i := g.v.Configured(q.Path)
	if f.configured, f.leaf = i >= 0, i >= 0 && q.Leaf; f.configured {
		f.guaranteed, f.most = p.Tree.Capacities[i].EffMin, p.Tree.Capacities[i].EffMax
	}
	if f.leaf {
		f.amRatio = amRatio(p, use.AMUsed, p.AMLimit(slot, i))
	}
	return f
}

// add adds the figures of another queue. Of maxima and ratios it takes the larger.
func (f *queueFigures) add(o queueFigures) {
	f.used, f.reserved, f.pending = f.used.Add(o.used), f.reserved.Add(o.reserved), f.pending.Add(o.pending)
	f.guaranteed, f.most = f.guaranteed.Add(o.guaranteed), yarn.ComponentMax(f.most, o.most)
	f.configured, f.leaf, f.amRatio = f.configured || o.configured, f.leaf || o.leaf, max(f.amRatio, o.amRatio)
}

// queue sends the metrics of a queue in a partition.
func (g *gauges) queue(p *view.Partition, name string, f queueFigures) {
	set := func(kind string, r yarn.Resource) {
		for i, resource := range g.v.Kinds {
			g.set(descQueue, float64(r[i]), name, p.Name(), resource, kind)
		}
	}
	set("used", f.used)
	set("reserved", f.reserved)
	set("pending", f.pending)
	if f.configured {
		set("guaranteed", f.guaranteed)
		set("max", f.most)
	}
	if f.leaf {
		g.set(descAMRatio, f.amRatio, name, p.Name())
	}
}

// partitions sends the metrics of each partition. Their sums are those of the cluster.
func (g *gauges) partitions() {
	root := g.v.State.Queues.Root()
	if root == 0 {
		return
	}
	for _, p := range g.v.Partitions() {
		f := g.v.Figures(p.Label)
		for i, name := range g.v.Kinds {
			for kind, r := range map[string]yarn.Resource{"total": f.Total, "used": f.Used, "free": f.Free,
				"held_free": f.HeldFree, "usable": f.Usable, "reserved": f.Reserved, "pending": f.Pending} {
				g.set(descPartition, float64(r[i]), p.Name(), name, kind) // the registry sorts
			}
		}
	}
}

func amRatio(p *view.Partition, used, limit yarn.Resource) float64 {
	share := p.Conf.Calculator.DivideShare(p.Tree.Cluster, used, limit)
	f, _ := new(big.Rat).SetFrac(new(big.Int).SetUint64(share), big.NewInt(1<<32)).Float64()
	return f
}

var ageBuckets = []float64{1, 5, 15, 60, 300, 600, 1800, 3600, 14400, 86400}

func (g *gauges) reservations() {
	byQueue, buckets := map[string]int{}, map[float64]uint64{}
	for _, b := range ageBuckets {
		buckets[b] = 0
	}
	var sum float64
	g.v.State.Reservations.Each(func(_ state.ReservationSlot, r *state.Reservation) bool {
		byQueue[queueName(g.v.State, g.v.State.Apps.Get(r.App).Queue)]++
		age := float64(max(g.v.State.Meta.NowMillis-r.MadeMillis, 0)) / 1000
		sum += age
		for _, b := range ageBuckets {
			if age <= b {
				buckets[b]++
			}
		}
		return true
	})
	g.byLeaf(descReserved, byQueue)
	g.set(descLeases, float64(g.v.State.Leases.Len()))
	g.out <- prometheus.MustNewConstHistogram(descAge, uint64(g.v.State.Reservations.Len()), sum, buckets)
	held := g.v.AllFigures().HeldFree
	for i, name := range g.v.Kinds {
		g.set(descIdle, float64(held[i]), name)
	}
	byCause(g, descCancelled, &g.v.State.Meta.Cancelled)
}

// byCause sends counters whose index is the number of a cause.
func byCause[C yarn.Cause](g *gauges, d *prometheus.Desc, counts *yarn.CauseCounts[C]) {
	for _, cause := range yarn.Causes[C]() {
		g.count(d, float64(counts[cause]), cause.String())
	}
}

func (g *gauges) preemption() {
	st := g.v.State
	t := &st.PreemptionTotals
	byCause(g, descPreempted, &t.Preempted)
	byCause(g, descWithdrawn, &t.Withdrawn)
	byCause(g, descUnused, &t.Unused)
	for i, name := range g.v.Kinds {
		g.count(descLost, float64(t.ResourceSeconds[i]), name)
	}
	warned := map[string]int{} // by queue
	st.Preemptions.Each(func(slot state.ContainerSlot, _ *state.Preemption) bool {
		warned[queueName(st, st.Apps.Get(st.Containers.Get(slot).App).Queue)]++
		return true
	})
	g.byLeaf(descWarnings, warned)
}

// byLeaf sends a count for each leaf queue, including those with 0.
func (g *gauges) byLeaf(d *prometheus.Desc, counts map[string]int) {
	shown := map[string]bool{}
	g.v.State.Queues.Each(func(slot state.QueueSlot, q *state.Queue) bool {
		if name := queueName(g.v.State, slot); q.Leaf && !shown[name] {
			shown[name] = true
			g.set(d, float64(counts[name]), name)
		}
		return true
	})
}

func (g *gauges) nodes() {
	counts, rooms := map[state.LabelSlot]*[yarn.NodeShutdown + 1]int{}, g.v.Rooms()
	silent := map[state.LabelSlot]int{}
	for _, p := range g.v.Partitions() {
		counts[p.Label] = new([yarn.NodeShutdown + 1]int)
	}
	g.v.State.Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool {
		counts[n.Label][n.State]++
		if n.Silent() {
			silent[n.Label]++
		}
		return true
	})
	for _, n := range g.v.ListedUnknown() {
		counts[0][n.State]++
	}
	for label, count := range counts { // the registry sorts
		partition := g.v.State.Labels.Name(label)
		for s := yarn.NodeRunning; s <= yarn.NodeShutdown; s++ {
			g.set(descNodes, float64(count[s]), s.String(), partition)
		}
		g.set(descSilent, float64(silent[label]), partition)
		g.set(descEmpty, float64(rooms[label].Empty), partition)
		largest, blocked := rooms[label].Free(), g.v.Blocked(label)
		for i, name := range g.v.Kinds {
			g.set(descLargest, float64(largest[i]), name, partition)
			g.set(descBlocked, float64(blocked[i]), name, partition)
		}
	}
}
