// Package harness runs a real Hadoop 3.4.2 on this machine, on loopback only, for the interop
// tests: ResourceManagers (replicas of rmd, or Java ones for comparison), NodeManagers, the
// JobHistoryServer, and clients: DistributedShell, MapReduce, the yarn command line and an
// ApplicationMaster that measures.
//
// A Cluster is one such Hadoop cluster. Each has its own folder, block of ports and configuration
// folders, so several can run at the same time. All its processes, including containers, end with
// the test that started them. Every wait is limited. interop/fetch downloads the jars from Maven
// Central.
//
// A function fails its test if it cannot do what its name says. If the test must check the result
// itself, the function returns a Result.
package harness
