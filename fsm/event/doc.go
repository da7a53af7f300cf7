// Package event is what a log entry may say: typed outcomes, their numbers and
// their bytes.
//
// An event is a fact that has been decided: "container 7 of application 12 was
// allocated on node 3". It is named in the past tense, carries identifiers
// rather than reasons, and never a time of its own except as TimeAdvanced: the
// state's clock moves by that event alone, so everything after it in the log
// happened then.
//
// Numbers are append-only and never reused; testdata holds golden bytes of
// each. Decoding is total: any bytes give events or an error.
//
// A Batch is the events of one log entry:
//
//	magic 'R' 'B' · format · level · sequence · count · records · crc32c
//
// where a record is the event's number and its fields. The events of one input
// are never split over two batches.
package event
