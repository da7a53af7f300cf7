// Package label plans inputs about labels: which labels the cluster has, and which label each host and
// NodeManager has. It cancels the reservations of nodes that change their label.
//
// It does not know applications. Whether an ask may have a label is a question of package planner.
package label
