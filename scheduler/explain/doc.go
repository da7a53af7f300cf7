// Package explain says why an application waits, why something in the log was decided, and what
// another queue configuration would change.
//
// The answers follow from the scheduler's own checks on the state at hand; nothing about waiting is
// stored anywhere. Each is a document (document.go), the same in REST, in the terminal and on pages.
//
// Explanations of all kinds are tested with the planner's stories, in package planner.
package explain
