// Package trace reads workload traces into one common model, for replays, simulated clusters and
// benchmarks.
//
// It supports six formats, each in its own file:
//
//	rmd        rmd.go     the CSV of this project: one application per line
//	openb      openb.go   Alibaba's GPU cluster trace of 2023, as observed or as a list of requests
//	swim       swim.go    the Facebook samples of SWIM: bytes only, sizes and run times are derived
//	rumen      rumen.go   Hadoop Rumen: JSON objects one after another
//	sls        sls.go     the input format of the Scheduler Load Simulator
//	sls-synth  synth.go   the Scheduler Load Simulator's generator, seeded
//
// It also supports three forms of node lists (nodes.go). The format auto is detected from the
// content, never from the file's name.
//
// The package contains one trace, [Demo], and generates two from a seed, [GoogleLike] and
// [PhillyLike].
//
// Invariants:
//   - A file is read completely or refused. The first bad line gives an [Error] with the file,
//     line, column and field, what is wrong and what was expected.
//   - Equal bytes and equal Options give equal Traces on every machine.
//   - Jobs are in order of submission. Jobs with the same time keep the order of the file.
//   - Options.Load never changes run times, only the arrivals.
//   - Trace.Notes lists everything that was derived, raised, cut or left out.
//   - No input makes it panic; fuzz targets check this.
//
// The package only reads files. It uses no cluster and no clock, and imports only the standard
// library.
package trace
