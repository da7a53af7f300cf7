// Package bench has no code: its test runs rmd beside the Java ResourceManager of
// Hadoop 3.4.2, both loaded through Hadoop's own wire by the same generator (rmd
// bench), in alternating runs on the same machine, and prints ratios.
//
// It needs a JDK 17 and Maven and is built with the tag interop; `make
// bench-peers` runs it. Benchmarks of single parts stay beside their code (make
// bench).
package bench
