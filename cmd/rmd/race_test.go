//go:build race

package main

// overhead is the factor by which the race detector increases the memory of a process.
const overhead = 8
