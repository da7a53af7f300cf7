// Package sim is tier 1 of jepsen-lite: whole clusters in virtual time.
//
// Three or five replicas run in one testing/synctest bubble together with simulated nodes, AMs,
// clients and operators. Each replica is assembled by rmd's own code (server.Open), with all its
// timers. Only its ports for REST and Hadoop are not opened. The simulation replaces these parts
// (server.Parts): the network (package network), the disk (package disk), the wall clock
//
//	 (clock.go) and random numbers.
//
//		load ─▶ forwarder ─▶ sequencer ─▶ raft ─▶ guard ─▶ disk
//		                                └──▶ machine ─▶ checker
//		faults ─▶ network, disks, clocks, processes, membership
//
// The seed of a run determines the cluster, the load, the kinds of faults and their severity
// (plan.go), and where goroutines are delayed: where raft writes logs and metrics, and at the
// failpoints of internal/failpoint (hooks.go). After the faults comes the calm, a phase without
// faults, in which all work must end.
//
// The checker (package checker) is called for everything that happens. It checks what each replica
// applied (S1 to S3), the answers to callers (S4 to S6, S11, S12, S19), the log by package ledger (S3
// to S10, S12, S17, S18, S20), reads (S13), votes and memberships (S14), snapshots (S15), and the
// effects of damage (S16). In the calm it checks L1 to L6.
//
// This package has the world with its replicas, and the driver, which injects faults. Begin with
// world.go, replica.go, plan.go and driver.go. What stands alone is in the folders below:
//
//	bubble      a test in virtual time
//	owner       which simulated process a goroutine belongs to
//	network     the network between replicas
//	disk        the disk of a replica, and its faults
//	logpipe     the pipe of a process's log
//	yield       delays where goroutines race
//	settings    what a seed determines of a cluster, and its queues
//	load        nodes, AMs and clients
//	checker     the judgment of a run while it goes on
//	clientkeys  the keys of attempts for the tokens of their clients (S21)
//	gridlock    whether a cluster can progress
//	result      results of seeds, summaries and totals
//
// # Choosing what runs
//
//	RMD_SIM_SEEDS    how many seeds to run, with faults for ten minutes each
//	RMD_SIM_SEED     a single seed
//	RMD_SIM_FIRST    the first of RMD_SIM_SEEDS; 1 by default
//	RMD_SIM_MINUTES  how long faults are injected, in virtual time
//	RMD_SIM_FOR      start no seed after this real time, such as 20m
//	RMD_SIM_PROFILE  kinds or groups of faults, separated by commas: all, calm, crash,
//	                 disk, net, pause, clock, member, load, or a kind by its name
//	RMD_SIM_OUT      the folder for the history of a failing seed; each run of
//	                 TestSeeds appends a line to its file total.jsonl
//	RMD_SIM_QUEUES   how many users have queues in TestManyQueues, 250 at a time
//	RMD_SIM_SUM      TestTotals of package result adds up the runs of that folder
//	RMD_SIM_COMMIT   the commit that the report names
//	RMD_TEST_LOG     not empty: print the replicas' own logs to standard error
//
// A run cannot be repeated exactly: the seed determines faults and load, but the Go scheduler decides
// which of several goroutines runs first.
//
// The simulation does not cover data races, real files, TLS and the kernel. A frozen process
// neither sends, receives nor writes, but its timers continue.
package sim
