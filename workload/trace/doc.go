// Package trace reads workload traces into one neutral model, for replays, simulated clusters and benchmarks.
//
// Six formats are known, one file each:
//
//	rmd        rmd.go     the plain CSV of this project: one line an application
//	openb      openb.go   Alibaba's GPU cluster trace of 2023, as observed or as a list of demands
//	swim       swim.go    the Facebook samples of SWIM: bytes only, sizes and run times are derived
//	rumen      rumen.go   Hadoop Rumen: JSON objects one after another
//	sls        sls.go     the Scheduler Load Simulator's own input
//	sls-synth  synth.go   the Scheduler Load Simulator's generator, seeded
//
// and three forms of node list (nodes.go). The format auto looks at the content, never at the file's name.
//
// The package contains one trace, [Demo].
//
// What always holds:
//   - A file is read whole or refused: the first bad line gives an [Error] that names file, line, column and field,
//     says what is wrong and what was expected.
//   - The same bytes and the same Options give the same Trace, on every machine.
//   - Jobs are in order of submission; those of one instant keep the order of the file.
//   - Run times are never changed by a load: only the arrivals are squeezed.
//   - Whatever is derived, raised, cut or kept out is said in Trace.Notes.
//   - No bytes make it panic; fuzz targets hold this.
//
// The package reads files and does nothing else: no cluster, no clock. It imports the standard library only.
package trace
