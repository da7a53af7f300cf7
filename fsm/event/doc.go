// Package event defines the events of the log: their types, their numbers and their bytes.
//
// An event is a fact that has been decided: "container 7 of application 12 was allocated on node
// 3". Its name is in the past tense. No event has a time of its own except TimeAdvanced: only that
// event moves the state's clock, so everything after it in the log happened at that time.
//
// Numbers are append-only and never reused. testdata has golden bytes of each event. Decoding is
// total: any bytes give events or an error.
//
// A Batch has the events of one log entry:
//
//	magic 'R' 'B' · format · level · sequence · count · records · crc32c
//
// A record is the event's number and its fields. The events of one input are always in one batch.
//
// Begin with define.go (what is known of a type) and batch.go. Each type has its row, fields and
// sentence in the file of its noun. docs/design/adding-an-event.md says how to add an event.
package event
