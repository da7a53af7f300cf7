// Package agent has the NodeManager and the ApplicationMaster as deterministic state machines,
// without calls, clocks or goroutines. Loads, simulations and the harness of real processes drive
// them; each of these has its own way to call, wait and fail.
//
//	NodeManager         what runs on a node, and what the node has yet to report
//	ApplicationMaster   what an attempt asks for, holds and returns
package agent
