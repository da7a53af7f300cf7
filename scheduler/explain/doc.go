// Package explain says why an application waits, why a decision in the log was made, and what
// another queue configuration would change.
//
// The answers come from the scheduler's own checks on the current state. The state stores no
// reasons for waiting. Each answer is a document (document.go), the same in REST, in the terminal
// and on pages. Begin with explain.go (an application) and ask.go (the nodes for an ask).
//
// The scenarios of package planner test all kinds of explanations.
package explain
