// Package load is the load on a cluster under faults: simulated nodes and ApplicationMasters,
// operators who change things, readers, and a prober whose writes measure how long no write was
// acknowledged.
//
//	agents, masters ── submit (POST /v1/inputs, repeats at the next replica) ─┐
//	operators, readers ── REST of one replica after the other ──────────────┼─▶ replicas
//	prober ── submit ────────────────────────────────────────────────────────┘
//
// The history records every call and its answer as an operation. A refused call has not happened. A
// call without an answer in time has an unknown outcome, and its caller continues as another
// process. The package judges nothing.
package load
