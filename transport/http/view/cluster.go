package view

import (
	"rmd/api"
	"rmd/fsm/state"
	"rmd/yarn"
)

// Totals counts the contents of the state.
func (v *View) Totals() api.Totals {
	m := &v.State.Meta
	t := api.Totals{Apps: v.State.Apps.Len(), Ended: int(m.EndedApps), Nodes: v.State.Nodes.Len(),
		UsableNodes: int(m.UsableNodes), DrainingNodes: v.NodesByState()[yarn.NodeDecommissioning],
		Reservations: v.State.Reservations.Len(), Figures: v.document(v.AllFigures())}
	n := v.Summary().All()
	t.Running, t.Waiting = int(n.ByState[yarn.AppRunning]), n.ForAM()
	if root := v.State.Queues.Root(); root != 0 {
		t.Containers = v.State.Queues.Get(root).Containers - int64(v.State.Reservations.Len())
	}
	return t
}

// EndedApps counts the applications that have ended since the cluster was created, including those
// that the state has forgotten.
func (v *View) EndedApps() state.EndedApps {
	var out state.EndedApps
	if root := v.State.Queues.Root(); root != 0 {
		out = v.State.Queues.Get(root).Totals.Gone
	}
	all, former := v.Summary().All(), v.Summary().Queue(0) // root counts those of removed queues as gone
	for i := range out {
		s := yarn.AppFinished + yarn.ApplicationState(i)
		out[i] += uint64(all.ByState[s] - former.ByState[s])
	}
	return out
}
