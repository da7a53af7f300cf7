package model

import (
	"github.com/anishathalye/porcupine"

	"rmd/jepsen-lite/history"
)

// What administrators want of a node; "" is not known.
const (
	inService  = "in service"
	leaving    = "draining"
	outService = "out of service"
)

// Registers, as the text of a node-add, says that the node registered by itself.
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
		out = append(out, Part{Kind: "node", Name: name, calls: g.calls[name], model: nodeModel, facts: facts{registers: registers[name]}})
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
				return !out.known, s // an excluded node is refused
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

// seesNode says whether a node's state may be read, and what it tells of what is
// wanted: a node can be lost or unhealthy at any time; one that drains has
// drained by and by, and is back when it registers again.
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
