// Package load is who uses the cluster while it is broken: simulated nodes and
// ApplicationMasters, operators who change things, readers, and a prober whose
// writes tell how long nobody was served.
//
//	agents, masters ── submit (POST /v1/inputs, repeats at the next replica) ─┐
//	operators, readers ── REST of one replica after the other ──────────────┼─▶ replicas
//	prober ── submit ────────────────────────────────────────────────────────┘
//
// Everything asked and answered is noted as an operation of the history. A call
// that was refused has not happened; one that nobody answered in time is of
// unknown outcome, and whoever asked goes on as another process. The package
// judges nothing.
package load
