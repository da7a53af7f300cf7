// Package bench has only a test. It runs rmd and the Java ResourceManager of Hadoop 3.4.2 in turn
// on the same machine, loads both through Hadoop's protocols with the same generator (rmd bench),
// and prints ratios.
//
// RMD_INTEROP_HADOOP names another version. RMD_BENCH_ASYNC says whether its CapacityScheduler schedules
// asynchronously, which it does by default since 3.5.0.
//
// The test needs JDK 17 and Maven and has the build tag interop; `make bench-peers` runs it.
// Benchmarks of single parts are in the packages of these parts (make bench).
package bench
