package sim

import (
	"io"
	"log"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-metrics"

	"rmd/internal/failpoint"
)

// Raft updates its metrics far more often than it logs, and processes reach failpoints far more
// often.
const (
	rareMetric = 8
	rarePoint  = 8
)

// listen passes the metrics and failpoints of this process on to the simulated clusters. It does so
// once.
var listen = sync.OnceFunc(func() {
	c := metrics.DefaultConfig("sim")
	c.EnableRuntimeMetrics, c.EnableHostname = false, false
	if _, err := metrics.NewGlobal(c, &countingSink{}); err != nil {
		panic(err) // the configuration is fixed
	}
	failpoint.Set(func(n failpoint.Name) {
		if l := current(); l != nil {
			l.r.w.atFailpoint(l, n)
		}
	})
})

// atFailpoint is called when a process reaches a failpoint.
func (w *world) atFailpoint(l *process, n failpoint.Name) {
	w.mu.Lock()
	w.hits[n]++
	w.mu.Unlock()
	if f := w.armed.Load(); f != nil {
		(*f)(l, n)
	}
	w.yield.Yield(rarePoint)
}

// countingSink receives raft's metrics. It delays the goroutine that updates them.
type countingSink struct{ metrics.BlackholeSink }

func (*countingSink) delay() {
	if l := current(); l != nil {
		l.r.w.yield.Yield(rareMetric)
	}
}

// SetGauge implements metrics.MetricSink.
func (s *countingSink) SetGauge([]string, float32) { s.delay() }

// SetGaugeWithLabels implements metrics.MetricSink.
func (s *countingSink) SetGaugeWithLabels([]string, float32, []metrics.Label) { s.delay() }

// IncrCounter implements metrics.MetricSink.
func (s *countingSink) IncrCounter([]string, float32) { s.delay() }

// IncrCounterWithLabels implements metrics.MetricSink.
func (s *countingSink) IncrCounterWithLabels([]string, float32, []metrics.Label) { s.delay() }

// logger returns the logger of a process. Its sublogger "raft" delays the calling goroutines,
// because raft holds no lock while it logs.
func (l *process) logger() hclog.Logger {
	return replicaLogger{l.log.Logger(l.r.id), l.r.w, l.r.id}
}

type replicaLogger struct {
	hclog.Logger
	w  *world
	id string
}

// Named implements hclog.Logger.
func (l replicaLogger) Named(n string) hclog.Logger {
	if n == "raft" {
		return raftLogger{l.Logger.Named(n), l.w, l.id}
	}
	return replicaLogger{l.Logger.Named(n), l.w, l.id}
}

type raftLogger struct {
	hclog.Logger
	w  *world
	id string
}

func (l raftLogger) logged(message string) {
	if f := l.w.atLog.Load(); f != nil {
		(*f)(l.id, message)
	}
	l.w.yield.Yield(1)
}

// Trace implements hclog.Logger.
func (l raftLogger) Trace(m string, _ ...any) { l.logged(m) }

// Debug implements hclog.Logger.
func (l raftLogger) Debug(m string, a ...any) { l.Logger.Debug(m, a...); l.logged(m) }

// Info implements hclog.Logger.
func (l raftLogger) Info(m string, a ...any) { l.Logger.Info(m, a...); l.logged(m) }

// Warn implements hclog.Logger.
func (l raftLogger) Warn(m string, a ...any) { l.Logger.Warn(m, a...); l.logged(m) }

// Error implements hclog.Logger.
func (l raftLogger) Error(m string, a ...any) { l.Logger.Error(m, a...); l.logged(m) }

// With implements hclog.Logger.
func (l raftLogger) With(...any) hclog.Logger { return l }

// Named implements hclog.Logger.
func (l raftLogger) Named(string) hclog.Logger { return l }

// StandardLogger implements hclog.Logger.
func (raftLogger) StandardLogger(*hclog.StandardLoggerOptions) *log.Logger {
	return log.New(io.Discard, "", 0)
}
