// Package audit says what the audit records of an operation: who asked for it, what it changed, and
// the old and the new value. The planner writes that into the log entry of the change itself, so
// either both are committed or neither is. The package reads the state and emits nothing.
package audit

import (
	"strings"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
)

// Limits of the texts of an audit entry, in bytes.
const (
	NameMax   = 128
	TargetMax = 1024
	valueMax  = 80 // of one configuration value
)

// Operation is an operation that a caller has asked for.
type Operation struct {
	caller input.Caller
	in     input.Input
	target string
}

// Begin returns the operation of an input, which is not planned yet. ok is false if the audit does
// not record inputs of this kind, or if they have no caller.
func Begin(st *state.State, c input.Caller, in input.Input) (op Operation, ok bool) {
	if c == (input.Caller{}) || input.Operation(in) == "" {
		return Operation{}, false
	}
	return Operation{caller: c, in: in, target: Target(st, in)}, true
}

// Done returns what the audit records of an operation that was planned with these events; nil if
// they change no more than the clock.
func (op *Operation) Done(st *state.State, events []event.Event) *event.Audited {
	if !changed(events) {
		return nil
	}
	target := op.target
	switch op.in.(type) {
	case *input.SetQueues, *input.RollbackQueues:
		target = withComment(confChanges(st.Versions), target)
	}
	return Entry(&input.Audit{Who: op.caller.Who, From: op.caller.From, Action: input.Operation(op.in),
		Target: target, Result: event.AuditDone})
}

// Wanted describes what an operation was to change that was refused or failed on a state.
func Wanted(st *state.State, in input.Input) string {
	target := Target(st, in)
	if set, ok := in.(*input.SetQueues); ok {
		target = withComment(confWanted(st.Versions, set), target)
	}
	return input.Cut(target, TargetMax)
}

func withComment(text, comment string) string {
	return strings.TrimSuffix(text+" ("+strings.TrimSpace(comment)+")", " ()")
}

// Entry returns the event for an audit entry, with shortened texts.
func Entry(in *input.Audit) *event.Audited {
	return &event.Audited{Who: input.Cut(in.Who, NameMax), From: input.Cut(in.From, NameMax),
		Action: input.Cut(in.Action, NameMax), Target: input.Cut(in.Target, TargetMax),
		Result: input.Cut(in.Result, NameMax)}
}

// changed reports whether events change more than the clock.
func changed(events []event.Event) bool {
	for _, e := range events {
		if e.Kind().Class() != event.Clock {
			return true
		}
	}
	return false
}
