// Package harness runs a real Hadoop 3.4.2 on this machine, loopback only, for
// the interop tests: ResourceManagers (rmd's replicas, or the Java ones to
// compare with), NodeManagers, the JobHistoryServer, and what asks of them,
// DistributedShell, MapReduce, the yarn command line and an ApplicationMaster
// that measures.
//
// A Cluster is one such Hadoop. It has a folder, a block of ports and
// configuration folders of its own, so that several can run beside each other;
// what it started is ended with the test that made it, containers included.
// Every wait has a bound. The jars come from Maven Central by interop/fetch.
//
// Its functions fail the test that they were handed when they cannot do what
// their name says; what a test wants to judge itself comes back as a Result.
package harness
