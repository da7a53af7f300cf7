// Package planner turns inputs into events and replies: (state, input, time) → (events, reply).
//
// Planner.Plan is the entry point. The method plan has a case for each input, which calls a method
// in the file for this kind of input:
//   - applications: application.go, applicationid.go, gang.go
//   - attempts and the calls of AMs: attempt.go, master.go, ask.go, asklabel.go, resize.go,
//     response.go
//   - containers and reservations: container.go, reservation.go
//   - nodes and what they report: node.go, nodelists.go, nodereport.go, staleness.go, recovery.go,
//     label.go
//   - queues: queue.go, queuestate.go, dynamicqueue.go, managedqueue.go
//   - keys and tokens: masterkey.go, delegationtoken.go, accesstoken.go
//   - the cluster itself: cluster.go, preemption.go, audit.go
//
// Package scheduler allocates and reserves. The planner does not decide which application gets a
// container.
//
// The package is deterministic, as the scheduler is. In addition to the state, a Planner remembers
// only what the responses of the current leadership need (response.go, applicationid.go).
//
// Begin with planner.go, then follow one input, for instance allocate in attempt.go. The tests play
// scenarios, each in a file of testdata. They check the planner, the scheduler and the
// explanations.
package planner
