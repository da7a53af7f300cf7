package trace

import (
	"bytes"
	"fmt"
	"strings"
)

var (
	nodeColumns      = []string{"node", "rack", "memory_mb", "vcores", "gpus", "labels"}
	openbNodeColumns = []string{"sn", "cpu_milli", "memory_mib", "gpu", "model"}
)

// nodesPerRack is the number of nodes in a rack, if a list names no racks.
const nodesPerRack = 20

// decodeNodes reads a list of nodes in any of the three forms. The content determines the form.
func decodeNodes(file string, data []byte, modelLabels bool) ([]Node, error) {
	body := bytes.TrimLeft(data, " \t\r\n")
	var nodes []Node
	var err error
	switch {
	case len(body) == 0:
		return nil, &Error{File: file, Line: 1, Column: 1, What: "the file is empty", Expected: "a list of nodes"}
	case body[0] == '{' || body[0] == '[':
		nodes, err = slsNodes(file, data)
	default:
		head, _, _ := bytes.Cut(body, []byte("\n"))
		if bytes.Contains(head, []byte("cpu_milli")) {
			nodes, err = openbNodes(file, data, modelLabels)
		} else {
			nodes, err = csvNodes(file, data)
		}
	}
	if err == nil && len(nodes) == 0 {
		err = &Error{File: file, Line: 1, Column: 1, What: "no node in it", Expected: "at least one"}
	}
	if err != nil {
		return nil, err
	}
	return nodes, nil
}

func csvNodes(file string, data []byte) ([]Node, error) {
	t, err := openTable(file, data, nodeColumns[:5], nodeColumns[5:])
	if err != nil {
		return nil, err
	}
	var out []Node
	seen := map[string]bool{}
	for t.next() {
		n := Node{Name: t.name("node"), Rack: rackPath(t.name("rack")),
			MemoryMB: t.whole("memory_mb", 1, maxMemoryMB, "MiB"),
			VCores:   t.whole("vcores", 1, maxUnits, "vcores"),
			GPUs:     t.whole("gpus", 0, maxUnits, "GPUs"),
			Labels:   labelList(t.raw("labels"))}
		if seen[n.Name] {
			t.fail("node", quote(n.Name)+" named twice", "each node once")
		}
		seen[n.Name] = true
		out = append(out, n)
	}
	return out, t.err
}

// openbNodes reads Alibaba's list. The list has no racks, so each nodesPerRack successive nodes
// form one.
func openbNodes(file string, data []byte, modelLabels bool) ([]Node, error) {
	t, err := openTable(file, data, openbNodeColumns, nil)
	if err != nil {
		return nil, err
	}
	var out []Node
	seen := map[string]bool{}
	for t.next() {
		n := Node{Name: t.name("sn"), Rack: fmt.Sprintf("/rack-%d", len(out)/nodesPerRack+1),
			MemoryMB: t.whole("memory_mib", 1, maxMemoryMB, "MiB"),
			VCores:   t.whole("cpu_milli", 1000, maxUnits*1000, "thousandths of a CPU") / 1000,
			GPUs:     t.whole("gpu", 0, maxUnits, "number of GPUs")}
		if model := t.raw("model"); modelLabels && model != "" {
			n.Labels = []string{strings.Clone(model)}
		}
		if seen[n.Name] {
			t.fail("sn", quote(n.Name)+" named twice", "each node once")
		}
		seen[n.Name] = true
		out = append(out, n)
	}
	return out, t.err
}

// slsNodes reads the simulator's list, which has one object per rack. A node without a name, as in
// the simulator's samples, is one node that is named after its position.
func slsNodes(file string, data []byte) ([]Node, error) {
	var out []Node
	seen := map[string]bool{}
	err := newDocument(file, data).objects(func(o object) error {
		rack := o.name("rack", "default-rack")
		list := o.list("nodes")
		if len(list) == 0 {
			o.fail("nodes", "no node in the rack", "an array of at least one")
		}
		for i, n := range list {
			node := Node{Name: n.name("node", fmt.Sprintf("%s-node%d", strings.Trim(rack, "/"), i+1)), Rack: rackPath(rack),
				MemoryMB: n.whole("memory-mb", slsNodeMB, 1, maxMemoryMB),
				VCores:   n.whole("vcores", slsNodeCores, 1, maxUnits),
				GPUs:     n.whole("yarn.io/gpu", 0, 0, maxUnits),
				Labels:   labelList(n.text("labels", ""))}
			if seen[node.Name] {
				n.fail("node", quote(node.Name)+" named twice", "each node once")
			}
			seen[node.Name] = true
			out = append(out, node)
		}
		return *o.err
	})
	return out, err
}

func rackPath(name string) string { return "/" + strings.TrimLeft(name, "/") }

// labelList splits labels at commas, bars, semicolons and spaces. It ignores a remark in
// parentheses, such as (exclusive=false).
func labelList(s string) []string {
	var out []string
	for _, word := range strings.FieldsFunc(s, func(c rune) bool { return strings.ContainsRune(",|; \t", c) }) {
		if word, _, _ = strings.Cut(word, "("); word != "" {
			out = append(out, strings.Clone(word))
		}
	}
	return out
}
