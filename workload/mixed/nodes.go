package mixed

import (
	"fmt"

	"rmd/workload/trace"
)

// Size of the nodes for the workload, which is the most frequent size in the published cluster.
const (
	NodeMemoryMB = 393216
	NodeVCores   = 96
	NodeGPUs     = 8
)

const nodesPerRack = 20

// Queues returns the queues to which the workload submits, sorted.
func Queues() []string { return []string{"root.adhoc", "root.batch", "root.online", "root.train"} }

// Nodes returns n nodes sim-01, sim-02 …, with twenty nodes in each rack /rack-1, /rack-2 ….
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
