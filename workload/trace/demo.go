package trace

import _ "embed"

// Demo is the name of the trace that is part of the program. For a file of this name, write ./demo.
const Demo = "demo"

// The directory demo describes the sources of the demo and its license.
var (
	//go:embed demo/openb-demo.csv
	demoJobs []byte
	//go:embed demo/openb-demo-nodes.csv
	demoNodes []byte
)

// source returns the content of the trace at path, or of the demo with the demo's nodes.
func source(path string) (data []byte, nodes []Node, err error) {
	if path != Demo {
		data, err = load(path)
		return data, nil, err
	}
	nodes, err = decodeNodes(Demo, demoNodes, false)
	return demoJobs, nodes, err
}
