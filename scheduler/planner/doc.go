// Package planner turns inputs into events and replies: (state, input, time) → (events, reply).
//
// Plan is the only entry. Its table leads to one file for each family of inputs: applications and
// their ids, attempts, an AM's calls (ask.go, resize.go, response.go), nodes and their reports,
// queues, keys and tokens, the cluster itself. Package scheduler allocates and reserves; the
// planner does not decide which application gets a container.
//
// The package is deterministic, as the scheduler is. Beside the state it remembers only what the
// answers of the current leadership need (response.go, applicationid.go).
//
// The tests play scenarios, one in each file of testdata. They check the planner, the scheduler and
// the explanations.
package planner
