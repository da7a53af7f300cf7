package logsim

import (
	"rmd/fsm/state"
	"rmd/scheduler/input"
)

// launchAMs starts AMs on the nodes that stand for Hadoop's NodeManagers. As in the product, the
// leader calls those nodes for the containers in the committed state, and plans the result of each
// call.
func (l *leadership) launchAMs() {
	w := l.w
	st, _ := l.r.m.Fork()
	var out []input.Input
	st.Containers.Each(func(_ state.ContainerSlot, c *state.Container) bool {
		a, n := st.Apps.Get(c.App), st.Nodes.Get(c.Node)
		if !c.AM || c.Launched || !c.State.Live() || !n.NodeManager || a.LaunchedMillis != 0 || a.Attempt != c.Attempt {
			return true
		}
		to := w.agentOf(n.ID.Host)
		if id := a.AttemptID(); w.rounds < to.silent || !w.recovering && w.rng.IntN(30) == 0 {
			out = append(out, &input.AttemptLaunchFailed{Attempt: id, Container: c.Number, NodeFault: w.rng.IntN(2) == 0,
				Diagnostics: "no answer"})
		} else {
			to.launch(input.Launch{Container: st.Apps.ContainerID(c), Size: c.Size, User: st.Names.Text(a.User),
				Context: []byte(a.Details().Context)})
			out = append(out, &input.AttemptLaunched{Attempt: id, Container: c.Number})
		}
		return true
	})
	for _, in := range out {
		l.step(nil, input.Request{Input: in})
	}
}
