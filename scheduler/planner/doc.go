// Package planner turns inputs into events and replies: (state, input, time) → (events, reply).
//
// Planner.Plan is the entry point. The method plan has a case for each input, which calls a handler.
// Handlers belong to the type of what they change, in the file of its name:
//   - applications: application.go, submission.go, lifetime.go, applicationid.go. destinations says
//     which queue a submission leads to (destination.go); gangs: gang.go
//   - attempts, the calls of AMs: attempt.go, master.go, response.go. They ask asks (ask.go,
//     bounds.go), resizes (resize.go) and answers (answer.go)
//   - containers, and reservations: container.go; preemptions: preemption.go
//   - queues: queue.go, queuestate.go, queuedynamic.go; dynamicQueues: dynamicqueue.go, managedqueue.go
//   - cluster: cluster.go; requests, the idempotency keys: idempotency.go
//
// Questions that more than one of them has are answered by sizeRules (sizes.go) and labelRules
// (asklabel.go). Packages below this one plan what stands alone: node, label, token, audit. What ends
// goes through package lifecycle.
//
// Package scheduler allocates and reserves. The planner does not decide which application gets a
// container.
//
// The package is deterministic, as the scheduler is. In addition to the state, a Planner remembers
// only what the current leadership needs: the numbers of responses in attempts, the block of ids in
// applications, the round of full reports in node.Reports.
//
// Begin with planner.go, then follow one input, for instance allocate in attempt.go. The tests play
// scenarios, each in a file of testdata. They check the planner, the scheduler and the
// explanations.
package planner
