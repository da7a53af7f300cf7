// Package harness runs a throw-away cluster of real rmd processes. It can do to them what machines,
// networks and disks do: end and pause processes, cut and slow links, cut the power of a disk, fill
// it, damage files.
//
//	            ┌─ Network ─ loopback: a proxy on every link │ namespaces: one a replica, veth, bridge
//	Cluster ────┼─ Replica ─ one process and its exits, its files, its log
//	            └─ Disk ──── a directory │ a file system of its own on a loop device
//
// The harness treats rmd as a black box: it starts the program by its command line, reads over REST
// and changes the cluster with the program's own commands. Probe finds and names what the machine
// does not support, before the first process starts.
//
// The package does not choose faults (packages nemesis and scenario do) and judges nothing (package
// check does).
package harness
