package twin

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"rmd/scheduler/input"
	"rmd/yarn"
)

// quietFamilies are the families of histories that compare rmd's eager mode. All containers have one
// size that divides the nodes, because the choice of nodes differs and must not matter.
var quietFamilies = []string{"queues", "dominant", "fair", "users", "limits", "keys", "moves", "priorities",
	"weights", "parallel", "managed"}

// GenerateQuiet returns the history of a seed for the comparison of rmd's eager mode, as Generate
// does. After each step that changes something the cluster comes to rest.
func GenerateQuiet(seed uint64) (*History, []Observation, error) {
	g := &generator{r: rand.New(rand.NewPCG(seed, 11)), h: &History{Name: fmt.Sprintf("quiet-%d", seed)}, p: NewPlanner(),
		with: map[string]bool{"quiet": true}}
	for _, f := range quietFamilies {
		g.with[f] = g.chance(55)
	}
	if g.with["managed"] {
		g.with["queues"] = true
	}
	err := g.guard(g.runQuiet)
	return g.h, g.out, err
}

func (g *generator) runQuiet() error {
	if err := g.step("eager"); err != nil {
		return err
	}
	if err := g.configure(); err != nil {
		return err
	}
	if err := g.step("start"); err != nil {
		return err
	}
	for range g.between(1, 4) {
		if err := g.quietNode(); err != nil {
			return err
		}
	}
	actions := []func() error{g.submit, g.submit, g.allocate, g.allocate, g.allocate, g.allocate, g.done, g.done, g.finish,
		g.quietNode, g.priority}
	if g.with["moves"] {
		actions = append(actions, g.move)
	}
	if g.with["managed"] {
		actions = append(actions, g.manage)
	}
	for range g.between(15, 50) {
		if err := pick(g, actions)(); err != nil {
			return err
		}
		if err := g.step("quiet"); err != nil {
			return err
		}
	}
	return nil
}

// quietNode adds a node that a number of containers fill.
func (g *generator) quietNode() error {
	n, vcores := g.between(2, 12), 0
	if g.roomy {
		n, vcores = g.between(7, 12), wholeVCores
	}
	return g.step("node h%d /r0 %d,%d", len(g.p.racks), n*1024, n+vcores)
}

// done lets a container of an application end.
func (g *generator) done() error {
	for _, a := range g.running() {
		known := g.p.apps[a.ID.Seq]
		if n := len(known.granted); n > 1 && g.chance(50) {
			return g.step("done %d.%d", a.ID.Seq, g.between(2, n))
		}
	}
	return g.allocate()
}

// done ends a container that its AM knows, wherever it runs.
func (p *Planner) done(name string) {
	c := p.container(name)
	if c == nil || c.AM || !c.State.Live() || c.State == yarn.ContainerAllocated {
		return
	}
	node := p.st.Nodes.Get(c.Node).ID
	id := p.st.Apps.ContainerID(c)
	p.must(&input.NodeHeartbeat{ID: node, Statuses: []input.ContainerStatus{
		{Container: id, State: yarn.ContainerRunning}}})
	p.must(&input.NodeHeartbeat{ID: node, Statuses: []input.ContainerStatus{
		{Container: id, State: yarn.ContainerCompleted}}})
}

// rest lets the AMs call and the nodes send heartbeats until nothing changes any more.
func (p *Planner) rest() {
	for last := ""; ; {
		for _, seq := range slices.Sorted(maps.Keys(p.apps)) {
			p.allocate(Step{"allocate", fmt.Sprint(seq)})
		}
		for _, name := range slices.Sorted(maps.Keys(p.racks)) {
			in := &input.NodeHeartbeat{ID: nodeID(name)}
			for slot := range p.st.Containers.On(p.st.Nodes.Get(p.st.Nodes.Find(nodeID(name)))) {
				if c := p.st.Containers.Get(slot); yarnState(c) == yarn.ContainerAcquired && !c.Launched {
					in.Statuses = append(in.Statuses, input.ContainerStatus{Container: p.st.Apps.ContainerID(c),
						State: yarn.ContainerRunning})
				}
			}
			p.must(in)
			p.masters()
		}
		now := strings.Join(p.view(""), "\n")
		if now == last {
			return
		}
		last = now
	}
}

// amounts keeps the lines of an observation that do not depend on the choice of nodes.
func amounts(o Observation) Observation {
	return slices.DeleteFunc(o, func(line string) bool {
		word, _, _ := strings.Cut(line, " ")
		return word == "node" || word == "ask" || word == "container"
	})
}
