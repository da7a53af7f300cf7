// Package load is who uses the cluster while it is broken: simulated nodes and
// ApplicationMasters, operators who change things, readers, and a prober whose
// writes tell how long nobody was served.
//
//	agents, masters ── submit (POST /v1/inputs, repeats at the next replica) ─┐
//	operators, readers ── REST of one replica after the other ──────────────┼─▶ replicas
//	prober ── submit ────────────────────────────────────────────────────────┘
//
// The history records every call and its answer as an operation. A call that was refused has
// not happened. A call that was not answered in time has an unknown outcome, and its caller goes
// on as another process. The package judges nothing.
package load
