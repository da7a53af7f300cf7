// Package admin has the commands of those who run the cluster: its members, access, snapshots,
// autopilot and upgrades. There is one file for each noun.
//
// A command that is hard to undo asks first. Read cluster.go first.
package admin
