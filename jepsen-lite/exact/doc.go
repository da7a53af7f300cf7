// Package exact runs the simulation of package sim so that the same script gives the same run, bit
// by bit.
//
// Go's scheduler, map iteration and select are random, so a native run of a seed cannot be
// repeated. Built for GOOS=wasip1 GOARCH=wasm, the test binary has one thread, no preemption, and
// no entropy except from its host. Here the host supplies a clock that moves only when it is read,
// and random numbers from a seed in the script. Such a run takes about twenty times as long.
//
//	tree ─▶ Build ─▶ guest ─▶ Load ─▶ Lab.Draw:  seed ─▶ script
//	                                  Lab.Play:  script ─▶ outcome, hash
//	                                  Shrink:    failing script ─▶ smallest that fails alike
//
// A seed is first written as a script, and then played as a script. So a failing run can be kept
// and shrunk at once, and the failure recurs at the same virtual nanosecond.
//
// Such a run cannot find data races (it has one thread), faults in bbolt's mapped pages, in the
// kernel, or in the timing of TLS. A hash is valid for one build and one compiler. A script remains
// valid longer, and package sim plays the scripts in jepsen-lite/corpus natively.
package exact
