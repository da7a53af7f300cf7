// Package input is what may be asked of the planner: one type per request and
// per expired timer, with its reply, and the codec that carries both between
// replicas.
//
// An input holds what its asker said, in yarn's words, and the time at which
// the leader's sequencer took it; it holds no decision. A refusal is a reply
// with a Fault and leads to no event. The codec has a version of its own: a
// leader that does not know it says so.
package input
