// Package history is the record of a run: one line of JSON for each observation. The harness writes
// it, never rmd itself.
//
//	clients ──▶ Op       {"p":17,"t":"invoke","f":"submit","in":{…},"ns":…}
//	replicas ─▶ Replica  {"r":"r1","life":2,"k":"apply","term":4,"i":88,"d":…}
//	agents ───▶ Order    {"node":"n1:45454","k":"start","container":"…"}
//	nemesis ──▶ Fault    {"fault":"crash","t":"begin","on":["r1"]}
//	driver ───▶ Mark     {"mark":"calm"}
//	log ──────▶ Entry    {"log":"command","i":88,"term":4,"data":"…"}
//	states ───▶ Dump     {"state":"r1","i":88,"fields":[…]}
//
// Times are nanoseconds of one monotonic clock, that of the machine or that of the simulation. An
// operation is invoked and then ends once: ok (the client got a positive answer), fail (it was
// refused and has not happened) or info (the outcome is unknown: it happened once or never). After
// info, the process is retired and its client continues as another process.
//
// A harness writes with a Recorder. Read and ReadFiles return a History, also of a run that ended
// in the middle of a line.
package history
