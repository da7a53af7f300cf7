package rafttransport

import (
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// LibraryLogger is the logger for the library. It logs failed calls at debug level, since absences
// reports them. It also thins out messages that the library repeats: a replica that reaches no
// majority campaigns several times a second, for as long as that lasts.
type LibraryLogger struct {
	hclog.Logger
	repeats *repeats
}

// NewLibraryLogger returns a LibraryLogger that writes to log.
func NewLibraryLogger(log hclog.Logger) LibraryLogger {
	return LibraryLogger{log, &repeats{now: time.Now, of: map[string]*repeat{}}}
}

// callMessages are the messages that the library logs when a call to a replica fails.
var callMessages = map[string]bool{
	"failed to appendEntries to": true, "failed to heartbeat to": true, "failed to contact": true,
	"failed to pipeline appendEntries":        true,
	"failed to start pipeline replication to": true, "failed to send snapshot to": true,
	"failed to install snapshot":     true,
	"failed to make requestVote RPC": true, "aborting pipeline replication": true, "pipelining replication": true,
}

// Error implements hclog.Logger.
func (l LibraryLogger) Error(msg string, args ...any) { l.log(l.Logger.Error, msg, args) }

// Warn implements hclog.Logger.
func (l LibraryLogger) Warn(msg string, args ...any) { l.log(l.Logger.Warn, msg, args) }

// Info implements hclog.Logger.
func (l LibraryLogger) Info(msg string, args ...any) { l.log(l.Logger.Info, msg, args) }

// log writes a message, or writes it at debug level.
func (l LibraryLogger) log(write func(string, ...any), msg string, args []any) {
	if callMessages[msg] {
		l.Logger.Debug(msg, args...)
		return
	}
	due, omitted := l.repeats.observe(msg)
	switch {
	case !due:
		l.Logger.Debug(msg, args...)
	case omitted > 0:
		write(msg, append(args, "omitted", omitted)...)
	default:
		write(msg, args...)
	}
}

const (
	// repeatBurst is how often a message is logged before its repetitions are thinned out.
	repeatBurst = 8
	// repeatForget is the time without a message after which it counts as new.
	repeatForget = time.Minute
)

// repeats counts how often the library logs each of its messages. They are constants, so there are
// few.
type repeats struct {
	now func() time.Time

	mu sync.Mutex
	of map[string]*repeat
}

// repeat is a message that was logged more than once within repeatForget.
type repeat struct {
	last    time.Time
	count   uint64
	omitted uint64
	pace    pace
}

// observe reports whether a message is to be logged, and how many were omitted before it.
func (r *repeats) observe(msg string) (due bool, omitted uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, m := r.now(), r.of[msg]
	if m == nil || now.Sub(m.last) > repeatForget {
		was := m
		m = &repeat{pace: newPace(now)}
		if was != nil {
			m.omitted = was.omitted
		}
		r.of[msg] = m
	}
	m.last = now
	m.count++
	if m.count > repeatBurst && !m.pace.due(now) {
		m.omitted++
		return false, 0
	}
	omitted, m.omitted = m.omitted, 0
	return true, omitted
}
