// Package harness runs a throw-away cluster of real rmd processes, and can do to
// it what machines, networks and disks do: end and stop processes, cut and slow
// links, cut the power of a disk, fill it, damage files.
//
//	            ┌─ Network ─ loopback: a proxy on every link │ namespaces: one a replica, veth, bridge
//	Cluster ────┼─ Replica ─ one process and its exits, its files, its log
//	            └─ Disk ──── a directory │ a file system of its own on a loop device
//
// Everything is black-box: the program is started by its command line, asked over
// REST and changed by its own commands. What a machine does not offer is found
// by Probe before the first process starts, and told by name.
//
// The package decides nothing about which fault comes when (package nemesis and
// package scenario) and judges nothing (package check).
package harness
