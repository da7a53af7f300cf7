package rafttransport

import "github.com/hashicorp/go-hclog"

// LibraryLogger is the logger for the library. It logs failed calls at debug level, since absences
// reports them.
type LibraryLogger struct{ hclog.Logger }

// callMessages are the messages that the library logs when a call to a replica fails.
var callMessages = map[string]bool{
	"failed to appendEntries to": true, "failed to heartbeat to": true, "failed to contact": true, "failed to pipeline appendEntries": true,
	"failed to start pipeline replication to": true, "failed to send snapshot to": true, "failed to install snapshot": true,
	"failed to make requestVote RPC": true, "aborting pipeline replication": true, "pipelining replication": true,
}

// Error implements hclog.Logger.
func (l LibraryLogger) Error(msg string, args ...any) {
	if callMessages[msg] {
		l.Logger.Debug(msg, args...)
		return
	}
	l.Logger.Error(msg, args...)
}

// Warn implements hclog.Logger.
func (l LibraryLogger) Warn(msg string, args ...any) {
	if callMessages[msg] {
		l.Logger.Debug(msg, args...)
		return
	}
	l.Logger.Warn(msg, args...)
}

// Info implements hclog.Logger.
func (l LibraryLogger) Info(msg string, args ...any) {
	if callMessages[msg] {
		l.Logger.Debug(msg, args...)
		return
	}
	l.Logger.Info(msg, args...)
}
