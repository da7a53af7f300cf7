// Package metrics measures one replica: the metrics for Prometheus, the recent times of commits,
// and the profiles of the process.
package metrics

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"rmd/scheduler/input"
)

// Metrics has the metrics of one replica, in its own registry. A scrape reads the metrics of the
// state from a fork. Other code reports its measurements to the methods. Any goroutine may call any
// method at any time. No metric has a label with an application, a user or a container.
type Metrics struct {
	registry *prometheus.Registry

	commit, sync, batch, failover, replyWait prometheus.Histogram
	elections, divergence                    prometheus.Counter
	certificate                              *prometheus.GaugeVec
	snapshots, inputs, events, ipcRequests   *prometheus.CounterVec
	handshakes                               *prometheus.CounterVec
	stepDowns                                *prometheus.CounterVec
	reservations                             *prometheus.CounterVec
	plan, appWait, ipc, http_                *prometheus.HistogramVec

	plans []prometheus.Observer // of m.plan, by input.Kind

	mu     sync.Mutex
	source *Source // the replica whose state is shown; nil until Show
}

var (
	fastBuckets = prometheus.ExponentialBuckets(0.0001, 2, 18) // 0.1 ms … 13 s
	planBuckets = prometheus.ExponentialBuckets(0.000001, 2, 20)
	waitBuckets = []float64{0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400}
)

// New returns the metrics for a version of the program.
func New(version string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	hist := func(name, help string, buckets []float64) prometheus.Histogram {
		return m.add(prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})).(prometheus.Histogram)
	}
	hists := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return m.add(prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)).(*prometheus.HistogramVec)
	}
	count := func(name, help string) prometheus.Counter {
		return m.add(prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})).(prometheus.Counter)
	}
	counts := func(name, help string, labels ...string) *prometheus.CounterVec {
		return m.add(prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)).(*prometheus.CounterVec)
	}
	m.commit = hist("rmd_raft_commit_seconds", "Time from the proposal of an entry until it is applied.", fastBuckets)
	m.sync = hist("rmd_raft_fsync_seconds", "Time of one write to the log, including its syncs.", fastBuckets)
	m.batch = hist("rmd_raft_batch_events", "Number of events in one entry.", prometheus.ExponentialBuckets(1, 2, 14))
	m.failover = hist("rmd_failover_seconds",
		"Time from the loss of a leader to the next leader, seen by this replica.", fastBuckets)
	m.replyWait = hist("rmd_reply_wait_seconds", "Time that a reply waits for the commit of its entry.", fastBuckets)
	m.elections = count("rmd_raft_elections_total", "Elections whose end this replica saw.")
	m.stepDowns = counts("rmd_raft_step_downs_total",
		"How often this replica gave up leadership because it made no progress.", "cause")
	m.divergence = count("rmd_state_divergence_total", "Digests that differed from the leader's digest; must be 0.")
	m.snapshots = counts("rmd_raft_snapshots_total", "Snapshots that this replica wrote or installed.", "op", "result")
	m.inputs = counts("rmd_inputs_total", "Inputs that this replica received on its ports.", "kind", "result")
	m.events = counts("rmd_events_total", "Applied events.", "kind")
	m.handshakes = counts("rmd_ipc_handshakes_total", "Authentications on YARN's ports.", "method", "outcome")
	m.ipcRequests = counts("rmd_ipc_requests_total", "Calls on YARN's ports.", "protocol", "method", "code")
	m.reservations = counts("rmd_reservations_total",
		"Reservations that were made, fulfilled, cancelled, or moved (given up because another node served the application).",
		"queue", "outcome")
	m.plan = hists("rmd_plan_seconds", "Time to plan one input (leader only).", planBuckets, "kind")
	for k := input.Kind(0); k < input.KindsEnd; k++ {
		var o prometheus.Observer
		if in := input.New(k); in != nil {
			o = m.plan.WithLabelValues(kindName(in))
		}
		m.plans = append(m.plans, o)
	}
	m.appWait = hists("rmd_app_wait_seconds",
		"Time from the submission to the first container; large containers need more than half of an average node.",
		waitBuckets, "queue", "size")
	m.ipc = hists("rmd_ipc_seconds", "Time of a call on YARN's ports.", fastBuckets, "protocol", "method")
	m.http_ = hists("rmd_http_seconds",
		"Time of an HTTP request, by the pattern of its route and the class of its status; no event streams.", fastBuckets,
		"route", "code")
	m.certificate = m.add(prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "rmd_certificate_expiry_timestamp_seconds",
		Help: "Expiry of this replica's certificates, in Unix time."}, []string{"use"})).(*prometheus.GaugeVec)
	info := prometheus.NewGauge(prometheus.GaugeOpts{Name: "rmd_build_info",
		Help: "Always 1; the label is the version of the program.", ConstLabels: prometheus.Labels{"version": version}})
	info.Set(1)
	m.add(info)
	m.add(collectors.NewGoCollector())
	m.add(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.add(&stateCollector{m: m})
	return m
}

func (m *Metrics) add(c prometheus.Collector) prometheus.Collector {
	m.registry.MustRegister(c) // names are constants: a duplicate fails in the first test
	return c
}

// Show sets the replica whose state the metrics show.
func (m *Metrics) Show(s *Source) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.source = s
}

func (m *Metrics) shown() *Source {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.source
}

// Registry returns the registry, to which callers may add collectors.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }

// Handler returns the handler of /metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second})
}

// ObserveCommit records the time from proposing an entry to having applied it.
func (m *Metrics) ObserveCommit(d time.Duration) { m.commit.Observe(d.Seconds()) }

// ObserveSync records the time of a write to the log store.
func (m *Metrics) ObserveSync(d time.Duration) { m.sync.Observe(d.Seconds()) }

// ObserveBatch records the number of events in an entry.
func (m *Metrics) ObserveBatch(events int) { m.batch.Observe(float64(events)) }

// ObserveFailover records the time without a leader.
func (m *Metrics) ObserveFailover(d time.Duration) { m.failover.Observe(d.Seconds()) }

// ObserveReplyWait records the time that a reply waited for its entry.
func (m *Metrics) ObserveReplyWait(d time.Duration) { m.replyWait.Observe(d.Seconds()) }

// ObservePlan records the time to plan an input.
func (m *Metrics) ObservePlan(kind input.Kind, d time.Duration) {
	if int(kind) < len(m.plans) && m.plans[kind] != nil {
		m.plans[kind].Observe(d.Seconds())
	}
}

// ObserveIPC records a call on YARN's ports.
func (m *Metrics) ObserveIPC(protocol, method, code string, d time.Duration) {
	m.ipcRequests.WithLabelValues(protocol, method, code).Inc()
	m.ipc.WithLabelValues(protocol, method).Observe(d.Seconds())
}

// CountHandshake counts an authentication on YARN's ports by TOKEN or KERBEROS, and a refused one by
// SIMPLE. outcome is OK or why it failed.
func (m *Metrics) CountHandshake(method, outcome string) {
	m.handshakes.WithLabelValues(method, outcome).Inc()
}

// ShowStepDowns shows a cause for which CountStepDown may be called, from 0 on.
func (m *Metrics) ShowStepDowns(cause string) { m.stepDowns.WithLabelValues(cause) }

// CountStepDown counts that this replica gave up leadership because it made no progress.
func (m *Metrics) CountStepDown(cause string) { m.stepDowns.WithLabelValues(cause).Inc() }

// CountElection counts an election that has ended.
func (m *Metrics) CountElection() { m.elections.Inc() }

// CountDivergence counts a digest that differed.
func (m *Metrics) CountDivergence() { m.divergence.Inc() }

// CountSnapshot counts a snapshot; op is write or install, result is ok or error.
func (m *Metrics) CountSnapshot(op, result string) { m.snapshots.WithLabelValues(op, result).Inc() }

// CertificateExpires records when a certificate in use expires. use is peer (between replicas) or
// http.
func (m *Metrics) CertificateExpires(use string, at time.Time) {
	m.certificate.WithLabelValues(use).Set(float64(at.Unix()))
}

// CountDroppedLines shows the number of lines of the log that were dropped.
func (m *Metrics) CountDroppedLines(dropped func() uint64) {
	m.add(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "rmd_log_lines_dropped_total",
		Help: "Lines of the log that were dropped because they were not read in time."},
		func() float64 { return float64(dropped()) }))
}

// CountInput counts an input; result is ok, refused or error.
func (m *Metrics) CountInput(in input.Input, result string) {
	m.inputs.WithLabelValues(kindName(in), result).Inc()
}

// ObserveHTTP records the time of a request by the pattern of its route and the class of its
// status. Statuses outside of 100 to 599, which the page of an ApplicationMaster may have, count as
// other.
func (m *Metrics) ObserveHTTP(route string, code int, d time.Duration) {
	class := "other"
	if code >= 100 && code < 600 {
		class = strconv.Itoa(code/100) + "xx"
	}
	m.http_.WithLabelValues(route, class).Observe(d.Seconds())
}

// kindName returns the name of an input's type.
func kindName(in input.Input) string {
	return strings.TrimPrefix(typeName(in), "*input.")
}
