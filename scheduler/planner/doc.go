// Package planner turns inputs into events and replies: (state, input, time) → (events, reply).
//
// Plan is the only entry. Its table leads to one file for each family of inputs: applications and
// their ids, attempts, an AM's calls (ask.go, resize.go, response.go), nodes and what they report,
// queues, keys and tokens, the cluster itself. What allocates and reserves is package scheduler; the
// planner never decides who gets a container.
//
// It is pure, as the scheduler is. Beside the state it remembers only what the answers of this
// leadership need (response.go, applicationid.go).
//
// The tests tell stories to a planner and look at what it, the scheduler and the explanations make of
// them: testdata holds one scenario a file.
package planner
