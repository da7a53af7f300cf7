//go:build race

package main

// overhead is by how much the race detector multiplies the memory of a process.
const overhead = 8
