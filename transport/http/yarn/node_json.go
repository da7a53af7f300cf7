package yarnweb

import (
	"strconv"

	"rmd/fsm/state"
	"rmd/transport/http/route"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// Monitoring systems poll the list of all nodes, which has two kilobytes per node. Therefore this
// file writes its JSON without documents. A test checks that the JSON is that of wsNode.

// These parts of a node's document are the same for all nodes.
const (
	wsNodeStill = `,"memUtilization":0.0,"cpuUtilization":0.0,"numRunningOpportContainers":0,"usedMemoryOpportGB":0,"usedVirtualCoresOpport":0,"numQueuedContainers":0`
	wsNodeUsage = `,"allocationTags":{},` +
		`"resourceUtilization":{"nodePhysicalMemoryMB":0,"nodeVirtualMemoryMB":0,"nodeCPUUsage":0.0,` +
		`"aggregatedContainersPhysicalMemoryMB":0,"aggregatedContainersVirtualMemoryMB":0,"containersCPUUsage":0.0},"usedResource":`
	wsNodeAttributes = `,"nodeAttributesInfo":{},"totalResource":`
)

// jsonWriter appends to a JSON document.
type jsonWriter struct{ b []byte }

func (w *jsonWriter) raw(s string) { w.b = append(w.b, s...) }

func (w *jsonWriter) number(name string, v int64) {
	w.raw(name)
	w.b = strconv.AppendInt(w.b, v, 10)
}

// text appends a name and a string. Most strings need no escapes.
func (w *jsonWriter) text(name, s string) {
	w.raw(name)
	if plain(s) {
		w.b = append(append(append(w.b, '"'), s...), '"')
		return
	}
	w.b = append(w.b, quoteJSON(s)...)
}

// wsNodeJSON appends the document of a node.
func (v *docs) wsNodeJSON(b []byte, n *state.Node, now int64) []byte {
	w := jsonWriter{b}
	free := n.Unallocated()
	http := ""
	if n.State.Usable() {
		http = view.HTTPAddress(n)
	}
	w.text(`{"rack":`, n.Rack)
	w.text(`,"state":`, n.State.String())
	w.text(`,"id":`, view.NodeName(n))
	w.text(`,"nodeHostName":`, n.ID.Host)
	w.text(`,"nodeHTTPAddress":`, http)
	w.number(`,"lastHealthUpdate":`, n.HeardMillis(now))
	w.text(`,"version":`, n.Version)
	w.text(`,"healthReport":`, n.Report)
	w.number(`,"numContainers":`, int64(n.Count))
	w.number(`,"usedMemoryMB":`, n.Allocated[yarn.Memory])
	w.number(`,"availMemoryMB":`, free[yarn.Memory])
	w.number(`,"usedVirtualCores":`, n.Allocated[yarn.VCores])
	w.number(`,"availableVirtualCores":`, free[yarn.VCores])
	w.raw(wsNodeStill)
	if label := v.State.Labels.Name(n.Label); label != "" {
		w.text(`,"nodeLabels":[`, label)
		w.raw("]")
	}
	w.raw(wsNodeUsage)
	w.b = append(w.b, v.wsResource(n.Allocated).json...)
	w.raw(`,"availableResource":`)
	w.b = append(w.b, v.wsResource(free).json...)
	w.raw(wsNodeAttributes)
	w.b = append(w.b, v.wsResource(n.Total).json...)
	w.raw("}")
	return w.b
}

// writeNodes streams the list of nodes as JSON.
func (s *API) writeNodes(c *route.Call, v *docs, list []*state.Node) error {
	c.W.Header().Set("Content-Type", jsonType)
	if len(list) == 0 {
		_, _ = c.W.Write([]byte(`{"nodes":{}}`)) // the client may be gone
		return nil
	}
	now := s.nowMillis(v)
	b := append(make([]byte, 0, nodesChunk+8<<10), `{"nodes":{"node":[`...)
	for i, n := range list {
		if i > 0 {
			b = append(b, ',')
		}
		if b = v.wsNodeJSON(b, n, now); len(b) > nodesChunk {
			if _, err := c.W.Write(b); err != nil {
				return nil
			}
			b = b[:0]
		}
	}
	_, _ = c.W.Write(append(b, "]}}"...))
	return nil
}

// nodesChunk is the number of bytes after which a part of the list is written.
const nodesChunk = 256 << 10
