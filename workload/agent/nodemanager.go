package agent

import (
	"cmp"
	"maps"
	"slices"

	"rmd/scheduler/input"
	"rmd/yarn"
)

// endedMax is how many ended containers a node remembers, so that it does not take a late order to
// launch one again.
const endedMax = 1024

// NodeManager is what one NodeManager knows. P is what its user keeps of each container that runs.
// The zero value is a node on which nothing runs.
type NodeManager[P any] struct {
	running map[yarn.ContainerID]P
	ended   map[yarn.ContainerID]struct{}
	oldest  []yarn.ContainerID // of ended, a ring
	next    int                // in oldest
	news    []input.ContainerStatus
}

// Start begins a container and reports it; false when it runs, or has ended here.
func (n *NodeManager[P]) Start(id yarn.ContainerID, p P) bool {
	if _, runs := n.running[id]; runs || n.Ended(id) {
		return false
	}
	if n.running == nil {
		n.running = map[yarn.ContainerID]P{}
	}
	n.running[id] = p
	n.news = append(n.news, input.ContainerStatus{Container: id, State: yarn.ContainerRunning})
	return true
}

// Exit ends a container and reports it; false when it does not run.
func (n *NodeManager[P]) Exit(id yarn.ContainerID, status int32, why string) (p P, ok bool) {
	if p, ok = n.running[id]; !ok {
		return p, false
	}
	delete(n.running, id)
	n.remember(id)
	n.news = append(n.news, input.ContainerStatus{Container: id, State: yarn.ContainerCompleted, ExitStatus: status, Diagnostics: why})
	return p, true
}

// Kill obeys an order to end a container.
func (n *NodeManager[P]) Kill(id yarn.ContainerID) (p P, ran bool) {
	if p, ran = n.Exit(id, yarn.ExitKilledByRM, "killed by order of the ResourceManager"); !ran {
		n.Deny(id)
	}
	return p, ran
}

// Deny reports a container that does not run here as ended, once more; false when that is about to
// be reported already.
func (n *NodeManager[P]) Deny(id yarn.ContainerID) bool {
	if slices.ContainsFunc(n.news, func(s input.ContainerStatus) bool { return s.Container == id && s.State == yarn.ContainerCompleted }) {
		return false
	}
	n.remember(id)
	n.news = append(n.news, input.ContainerStatus{Container: id, State: yarn.ContainerCompleted, ExitStatus: yarn.ExitAborted})
	return true
}

// remember notes that a container has ended, in place of the oldest such.
func (n *NodeManager[P]) remember(id yarn.ContainerID) {
	if n.Ended(id) {
		return
	}
	if n.ended == nil {
		n.ended = map[yarn.ContainerID]struct{}{}
	}
	if len(n.oldest) < endedMax {
		n.oldest = append(n.oldest, id)
	} else {
		delete(n.ended, n.oldest[n.next])
		n.oldest[n.next] = id
		n.next = (n.next + 1) % endedMax
	}
	n.ended[id] = struct{}{}
}

// Ended says whether a container has ended here, as far as the node remembers.
func (n *NodeManager[P]) Ended(id yarn.ContainerID) bool {
	_, ended := n.ended[id]
	return ended
}

// Process is what the user keeps of a container that runs.
func (n *NodeManager[P]) Process(id yarn.ContainerID) (p P, ok bool) {
	p, ok = n.running[id]
	return p, ok
}

// Running are the containers that run, in the order of their ids.
func (n *NodeManager[P]) Running() []yarn.ContainerID {
	return slices.SortedFunc(maps.Keys(n.running), CompareContainers)
}

// Restart is the machine's: nothing runs any more, and nothing is reported of it. It returns what
// ran.
func (n *NodeManager[P]) Restart() map[yarn.ContainerID]P {
	lost := n.running
	for _, id := range n.Running() {
		n.remember(id)
	}
	n.running, n.news = nil, nil
	return lost
}

// Pending are the statuses that wait for the next call.
func (n *NodeManager[P]) Pending() []input.ContainerStatus { return n.news }

// Report takes the statuses for a heartbeat. Those whose call was not taken are given back with
// Unreported.
func (n *NodeManager[P]) Report() []input.ContainerStatus {
	said := n.news
	n.news = nil
	return said
}

// Unreported puts statuses back before all that is new.
func (n *NodeManager[P]) Unreported(said []input.ContainerStatus) {
	n.news = append(said[:len(said):len(said)], n.news...)
}

// Registration is what a node says of its containers when it registers: those of the statuses that
// ended, and all that run.
func (n *NodeManager[P]) Registration(said []input.ContainerStatus) []input.ContainerStatus {
	var out []input.ContainerStatus
	for _, s := range said {
		if s.State == yarn.ContainerCompleted {
			out = append(out, s)
		}
	}
	return append(out, n.All()...)
}

// All are the statuses of all that run, for a full report.
func (n *NodeManager[P]) All() []input.ContainerStatus {
	var out []input.ContainerStatus
	for _, id := range n.Running() {
		out = append(out, input.ContainerStatus{Container: id, State: yarn.ContainerRunning})
	}
	return out
}

// CompareContainers orders ids by application, attempt and number, so that runs are repeatable.
func CompareContainers(a, b yarn.ContainerID) int {
	return cmp.Or(cmp.Compare(a.App.ClusterTimestamp, b.App.ClusterTimestamp), cmp.Compare(a.App.Seq, b.App.Seq),
		cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.Number, b.Number))
}
