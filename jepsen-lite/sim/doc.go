// Package sim is tier 1 of jepsen-lite: whole clusters in virtual time.
//
// Three or five replicas run in one testing/synctest bubble together with simulated nodes, AMs,
// clients and operators. Each is the product's own (server.Open), with all its timers; only its
// ports for REST and Hadoop are not opened. What it stands on is handed in (server.Parts): the
// network (net.go, host.go, transport.go), the disk under the guard (disk.go, diskfaults.go,
// disksnap.go), the wall clock (clock.go) and entropy.
//
//	load ─▶ forwarder ─▶ sequencer ─▶ raft ─▶ guard ─▶ disk
//	                                └──▶ machine ─▶ checker
//	faults ─▶ network, disks, clocks, processes, membership
//
// A seed draws the cluster, the load, which kinds of faults there are and how heavy
// each is (driver.go), and where goroutines are held back: where raft logs and
// counts and at the points of internal/failpoint (yield.go). After the faults comes the
// calm, in which everything must come to its end.
//
// The checker is told of everything and asks the product only to compare it with its
// ledger: what each replica applied (S1 to S3), what callers were told (S4 to S6,
// S11, S12), the log as package ledger follows it (S5 to S10), reads (S13), votes and
// memberships (S14), snapshots (S15), and what became of damage (S16); in the calm
// L1 to L5.
//
// # Choosing what runs
//
//	RMD_SIM_SEEDS    so many seeds, with faults for ten minutes each
//	RMD_SIM_SEED     a single one
//	RMD_SIM_FIRST    the first of RMD_SIM_SEEDS, 1 when it is not given
//	RMD_SIM_MINUTES  how long faults are injected, in virtual time
//	RMD_SIM_FOR      begin no seed after so much real time (20m)
//	RMD_SIM_PROFILE  kinds or groups of faults with commas between: all, calm, crash,
//	                 disk, net, pause, clock, member, load, or a kind by its name
//	RMD_SIM_SCRIPT   TestScript plays this script: a file, or its text (package script)
//	RMD_SIM_TELL     draw: TestScript writes RMD_SIM_SEED out as a script; outcome: it
//	                 tells a host what the script came to (package exact)
//	RMD_SIM_OUT      the folder where a failing seed leaves its history, and where each
//	                 run of TestSeeds adds a line to total.jsonl
//	RMD_SIM_QUEUES   how many users have queues in TestManyQueues, 250 at a time
//	RMD_SIM_SUM      TestTotals adds up the runs of that folder
//	RMD_SIM_COMMIT   what the report calls the commit
//	RMD_TEST_LOG     not empty: the replicas' own logs, to standard error
//
// A run is not repeatable to the bit: a seed draws faults and load, the Go scheduler
// still decides which of several goroutines goes first. A test binary built for wasm
// is.
//
// What it leaves out: data races, real files, TLS, the kernel. A process that stands
// still is one that neither sends, receives nor writes; its timers go on.
package sim
