// Package tidy checks rules of rmd's design that a compiler does not check, as tests over the
// source tree. A finding says what to do instead.
//
// It checks which package imports which; that the core is deterministic (no clock, randomness,
// goroutine or float, and no dependence on map order); that every package has a comment; that
// documents name what exists; that only events change the replicated state; and that words are standard
// terms.
//
// Sources in testdata prove each rule: the rule must find a fault there.
package tidy
