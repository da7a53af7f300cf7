// Package exact runs the simulation of package sim so that the same script gives the
// same run, bit for bit.
//
// Go's scheduler, map walks and select draw from the machine, so a native run of a
// seed cannot be repeated. Built for GOOS=wasip1 GOARCH=wasm the test binary has one
// thread, no preemption and no entropy but what its host gives: here a clock that
// moves only when it is looked at, and randomness drawn from a number in the script.
// It costs some twenty times the speed.
//
//	tree ─▶ Build ─▶ guest ─▶ Load ─▶ Lab.Draw:  seed ─▶ script
//	                                  Lab.Play:  script ─▶ outcome, hash
//	                                  Shrink:    failing script ─▶ smallest that fails alike
//
// A seed is first written out as a script and then played as one, so that what fails
// can be kept and cut at once, and comes back at the same virtual nanosecond.
//
// What it cannot find: data races (one thread), what bbolt's mapped pages do, the
// kernel, the timing of TLS. A hash holds for one build and one compiler; a script
// lives longer, and package sim plays those in jepsen-lite/corpus natively.
package exact
