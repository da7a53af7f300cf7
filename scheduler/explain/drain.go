package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rmd/fsm/state"
	"rmd/internal/thousands"
	"rmd/yarn"
)

// DrainChoice is a node that may be drained, and what is lost if the node leaves before its drain
// ends. The unit of work is a millisecond of the whole cluster: the dominant share of a container
// times its running time.
type DrainChoice struct {
	ID           string `json:"id"`
	Reason       string `json:"reason"`
	Containers   int    `json:"containers"`
	AMs          int    `json:"ams"`          // among the containers
	Applications int    `json:"applications"` // that run and left data of ended containers there
	// WorkMillis is the work of the containers, and of containers on other nodes that end with the
	// AMs.
	WorkMillis int64 `json:"work_ms"`
	// DataMillis is the work that produced the data. Each node of an application counts with an
	// equal part.
	DataMillis int64 `json:"data_ms"`

	slot       state.NodeSlot
	work, data int64 // in millionths of a second of the whole cluster
}

// CheapestToDrain returns at most n running nodes whose loss costs least, the cheapest first. Among
// nodes of equal cost, those with fewer containers come first, then those with the smaller id.
func CheapestToDrain(st *state.State, n int) []DrainChoice {
	d := newDrainCosts(st)
	out := []DrainChoice{}
	st.Nodes.Each(func(slot state.NodeSlot, node *state.Node) bool {
		if node.State == yarn.NodeRunning {
			out = append(out, d.of(slot, node))
		}
		return true
	})
	slices.SortFunc(out, func(a, b DrainChoice) int {
		return cmp.Or(cmp.Compare(a.work+a.data, b.work+b.data), cmp.Compare(a.Containers, b.Containers),
			st.Nodes.Get(a.slot).ID.Compare(st.Nodes.Get(b.slot).ID))
	})
	out = out[:min(n, len(out))]
	for i := range out {
		out[i].tell(st)
	}
	return out
}

// tell fills in the fields for display.
func (c *DrainChoice) tell(st *state.State) {
	c.ID, c.WorkMillis, c.DataMillis = st.Nodes.Get(c.slot).ID.String(), c.work/1000, c.data/1000
	var parts []string
	if c.Containers > 0 {
		parts = append(parts, fmt.Sprintf("%s, %s: %s of the cluster's work", thousands.Count(c.Containers, "container"),
			thousands.Count(c.AMs, "AM"), seconds(c.WorkMillis)))
	}
	if c.Applications > 0 {
		parts = append(parts, fmt.Sprintf("data of %s: %s", thousands.Count(c.Applications, "running application"),
			seconds(c.DataMillis)))
	}
	if parts == nil {
		parts = []string{"nothing runs there and no running application left data there"}
	}
	c.Reason = strings.Join(parts, "; ")
}

func seconds(millis int64) string { return fmt.Sprintf("%d.%03d s", millis/1000, millis%1000) }

// drainCosts computes the costs of nodes.
type drainCosts struct {
	st    *state.State
	scale []yarn.Fraction // by resource: converts resource-seconds to work
	nodes []int64         // by application: number of nodes on which it left data
}

func newDrainCosts(st *state.State) *drainCosts {
	d := &drainCosts{st: st, nodes: make([]int64, st.Apps.Cap())}
	for _, all := range st.Meta.Cluster {
		f := yarn.Fraction{}
		if all > 0 {
			f = yarn.NewFraction(1e6, all)
		}
		d.scale = append(d.scale, f)
	}
	st.NodeApplications.Each(func(_ state.NodeApplicationSlot, p *state.NodeApplication) bool {
		d.nodes[p.Slot]++ // slot 0 means applications that have ended; of never reads it
		return true
	})
	return d
}

// work converts resource-seconds to millionths of a second of the whole cluster.
func (d *drainCosts) work(r yarn.Resource) (most int64) {
	for k, f := range d.scale {
		if f.Den != 0 {
			most = max(most, f.MulFloor(r[k]))
		}
	}
	return most
}

func (d *drainCosts) ofContainer(c *state.Container) int64 {
	return d.work(d.st.Resizes.ResourceSeconds(c, d.st.Meta.NowMillis))
}

// of computes the cost of a node. If the AM of an application runs there, the application's
// containers on all nodes end with it, unless the application keeps them.
func (d *drainCosts) of(slot state.NodeSlot, n *state.Node) DrainChoice {
	c := DrainChoice{slot: slot}
	var ending []state.AppSlot
	for _, k := range d.st.Containers.On(n) {
		c.Containers++
		if k.AM {
			c.AMs++
			if !d.st.Apps.Get(k.App).KeepContainers {
				ending = append(ending, k.App)
			}
		}
	}
	for _, k := range d.st.Containers.On(n) {
		if !slices.Contains(ending, k.App) {
			c.work += d.ofContainer(k)
		}
	}
	for _, app := range ending {
		for _, k := range d.st.Containers.Of(d.st.Apps.Get(app)) {
			if k.State.Live() {
				c.work += d.ofContainer(k)
			}
		}
	}
	for at := n.NodeApplications; at != 0; {
		p := d.st.NodeApplications.Get(at)
		if a := p.Slot; a != 0 {
			c.Applications++
			c.data += d.work(d.st.Apps.Get(a).ResourceSeconds) / d.nodes[a]
		}
		at = p.NextOnNode()
	}
	return c
}
