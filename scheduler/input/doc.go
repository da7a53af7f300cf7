// Package input has the inputs of the planner: one type for each request and each expired timer,
// the type of its reply, and the codec that carries both between replicas.
//
// An input has what its sender stated, in the types of package yarn, and the time at which the
// leader's sequencer took it. It contains no decision. A refusal is a reply with a Fault; it leads
// to no event. The codec has its own version. A leader that does not know the version says so.
package input
