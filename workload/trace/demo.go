package trace

import _ "embed"

// Demo is the name of the trace that the program contains. A file of this name is read as ./demo.
const Demo = "demo"

// The sources of the demo and its license are in the folder demo.
var (
	//go:embed demo/openb-demo.csv
	demoJobs []byte
	//go:embed demo/openb-demo-nodes.csv
	demoNodes []byte
)

// source is the content of the trace at path, or of the demo, and the nodes that come with the demo.
func source(path string) (data []byte, nodes []Node, err error) {
	if path != Demo {
		data, err = load(path)
		return data, nil, err
	}
	nodes, err = decodeNodes(Demo, demoNodes, false)
	return demoJobs, nodes, err
}
