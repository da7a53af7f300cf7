// Package work has the commands of what a cluster works on: applications, nodes, labels, queues and
// reservations, and what happens to them. There is one file for each noun.
//
// A command reads its flags, calls the cluster and prints the answer. The cluster decides what is
// allowed. Read node.go first.
package work
