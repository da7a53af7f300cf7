// Package trial has the commands that try something out: a replayed trace, load on a cluster, another
// queue configuration beside the one in force, and what preemption would do.
//
// None of them changes a cluster without being told to. Read replay.go first.
package trial
