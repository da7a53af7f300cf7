// Package tidy is the house's own lint: the rules of rmd's design that a
// compiler does not hold, as tests over the source tree. A finding says what to
// do instead.
//
// It holds who may import whom; that the core is deterministic (no clock, no
// chance, no goroutine, no float, no map order that matters); that packages are
// introduced, and nothing is left for later.
//
// Every rule is proved by sources in testdata that it must find fault with.
package tidy
