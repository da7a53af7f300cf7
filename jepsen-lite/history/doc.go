// Package history is what a run leaves behind: one line of JSON for each thing
// that somebody saw, written by the harness and never by rmd itself.
//
//	clients ──▶ Op       {"p":17,"t":"invoke","f":"submit","in":{…},"ns":…}
//	replicas ─▶ Replica  {"r":"r1","life":2,"k":"apply","term":4,"i":88,"d":…}
//	agents ───▶ Order    {"node":"n1:45454","k":"start","container":"…"}
//	nemesis ──▶ Fault    {"fault":"crash","t":"begin","on":["r1"]}
//	driver ───▶ Mark     {"mark":"calm"}
//	log ──────▶ Entry    {"log":"command","i":88,"term":4,"data":"…"}
//	states ───▶ Dump     {"state":"r1","i":88,"fields":[…]}
//
// Times are nanoseconds of one monotonic clock, that of the machine or that of
// the simulation. An operation is invoked and then ends once: ok (the client got
// a positive answer), fail (it was refused and has not happened) or info (nobody
// told it, so it happened once or never). A process whose operation ended with
// info is retired and its client goes on as another one.
//
// A Recorder is what a harness writes with; Read and ReadFiles give a History
// back, also of a run that died in the middle of a line.
package history
