package mixed

import (
	"fmt"

	"rmd/workload/trace"
)

// The node that the workload is made for: the most frequent one of the published cluster.
const (
	NodeMemoryMB = 393216
	NodeVCores   = 96
	NodeGPUs     = 8
)

const nodesPerRack = 20

// Queues are the queues that the workload submits to, sorted.
func Queues() []string { return []string{"root.adhoc", "root.batch", "root.online", "root.train"} }

// Nodes gives n nodes sim-01, sim-02 …, twenty to a rack: /rack-1, /rack-2 ….
func Nodes(n int) []trace.Node {
	out := make([]trace.Node, 0, max(n, 0))
	for i := range n {
		out = append(out, trace.Node{
			Name: fmt.Sprintf("sim-%02d", i+1), Rack: fmt.Sprintf("/rack-%d", i/nodesPerRack+1),
			MemoryMB: NodeMemoryMB, VCores: NodeVCores, GPUs: NodeGPUs,
		})
	}
	return out
}
