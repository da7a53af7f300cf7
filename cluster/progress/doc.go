// Package progress measures whether the work of a replica gets on: for how long something has waited
// while nothing of its kind got done, and for what it waits.
//
// stall.go is the bookkeeping alone. progress.go looks at the replica.
package progress
