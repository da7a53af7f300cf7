//as: cluster/doc.go

// Package cluster opens, joins and leaves a Raft cluster.
package cluster
