// Package input has the inputs of the planner: one type for each request and each expired timer,
// the type of its reply, and the codec that carries both between replicas.
//
// An input has what its sender stated, in the types of package yarn. It contains no decision; the
// leader's sequencer adds the time. A refusal is a reply with a Refusal, and it leads to no event.
// The codec has its own version, and DecodeRequest returns ErrVersion for a version that it does
// not know.
//
// Begin with input.go (Input, Reply, Request and the codec), kinds.go (one row for each kind) and
// refusal.go (refusals). The other files have the inputs, grouped by what they are about:
// application.go, attempt.go (with update.go), node.go, cluster.go and so on. Check (check.go)
// applies the limits of limits.go to each request, and caller.go says which calls the audit records.
package input
