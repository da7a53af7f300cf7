// Package agent plays the parties that a ResourceManager deals with as pure state machines: no call,
// no clock, no goroutine. Loads, simulations and the harness of real processes drive them, each with
// its own way to call, wait and fail.
//
//	NodeManager         what runs on a node, and what the node has yet to report
//	ApplicationMaster   what an attempt asks for, holds and gives back
package agent
