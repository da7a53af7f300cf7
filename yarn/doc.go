// Package yarn has the vocabulary of YARN: identifiers, resources, states, and the exact integer
// arithmetic of scheduling decisions.
//
// It has values only. It imports no other package of rmd, reads no clock and does no I/O. So the
// state, the planner and every port can use it.
//
// Begin with id.go and resource.go.
package yarn
