// Package yarn holds the words of the trade: identifiers, resources, states and
// the exact integer arithmetic that every scheduling decision rests on.
//
// Values only. The package imports nothing of ours, reads no clock and does no
// I/O, so the state machine, the planner and every wire may speak it.
package yarn
