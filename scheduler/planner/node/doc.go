// Package node plans what concerns nodes. Reports takes what NodeManagers say: registrations,
// heartbeats, and that they are silent. It answers with the commands for them. Nodes changes what nodes
// are used for: drains, decommissions, the lists of hosts, total resources.
//
// Reports asks Nodes for all changes of the use of a node; Nodes knows no report. Neither allocates: a
// heartbeat runs a pass of package scheduler.
package node
