package model

import (
	"github.com/anishathalye/porcupine"

	"rmd/jepsen-lite/history"
)

// States of a node, as administrators want it; "" means not known.
const (
	inService  = "in service"
	leaving    = "draining"
	outService = "out of service"
)

// Registers is the text of a node-add if the node registered by itself.
const Registers = "registers"

func nodes(calls []history.Call) []Part {
	var g group
	registers := map[string]bool{}
	for i := range calls {
		c := &calls[i]
		switch c.F {
		case history.NodeAdd, history.NodeDrain, history.NodeRemove, history.ReadNode:
			if !counts(c) {
				continue
			}
			registers[c.In.Node] = registers[c.In.Node] || c.In.Text == Registers
			g.add(c.In.Node, *c)
		}
	}
	var out []Part
	for _, name := range g.names {
		out = append(out, Part{Kind: "node", Name: name, calls: g.calls[name], model: nodeModel,
			facts: facts{registers: registers[name]}})
	}
	return out
}

var nodeModel = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		s, in, out := state.(string), input.(step), output.(answer)
		if out.missing {
			return s == "", s
		}
		switch in.f {
		case history.NodeAdd:
			if s == outService && in.in.Text == Registers {
				return !out.known, s // an excluded node must be refused
			}
			return true, inService
		case history.NodeDrain:
			if s == outService {
				return true, s
			}
			return true, leaving
		case history.NodeRemove:
			return true, outService
		}
		return seesNode(s, out.out.State, in.facts)
	},
}

// seesNode reports whether a read may return a node's state, and returns the wanted state that
// follows. A node can be lost or unhealthy at any time. A draining node is decommissioned in the
// end, and is back when it registers again.
func seesNode(s, read string, f facts) (bool, any) {
	switch read {
	case "RUNNING":
		ok := s == "" || s == inService || (s == leaving && !f.registers)
		return ok, inService
	case "DECOMMISSIONING":
		return s == "" || s == leaving, leaving
	case "DECOMMISSIONED":
		switch s {
		case "":
			return true, s
		case leaving, outService:
			return true, s
		}
		return false, s
	}
	return true, s
}
