package agent

import (
	"cmp"
	"maps"
	"slices"

	"rmd/scheduler/input"
	"rmd/yarn"
)

// endedMax is how many ended containers a node remembers. A node does not start a remembered
// container again when a late launch order arrives.
const endedMax = 1024

// NodeManager is the state of one NodeManager. P is the caller's data for each running container.
// The zero value is a node without containers.
type NodeManager[P any] struct {
	running map[yarn.ContainerID]P
	ended   map[yarn.ContainerID]struct{}
	oldest  []yarn.ContainerID // the containers in ended, a ring
	next    int                // index in oldest
	news    []input.ContainerStatus
}

// Start starts a container and reports it. It returns false if the container runs or has ended
// here.
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

// Exit ends a container and reports it. It returns false if the container does not run.
func (n *NodeManager[P]) Exit(id yarn.ContainerID, status int32, why string) (p P, ok bool) {
	if p, ok = n.running[id]; !ok {
		return p, false
	}
	delete(n.running, id)
	n.remember(id)
	n.news = append(n.news, input.ContainerStatus{Container: id, State: yarn.ContainerCompleted, ExitStatus: status,
		Diagnostics: why})
	return p, true
}

// Kill executes the ResourceManager's order to end a container.
func (n *NodeManager[P]) Kill(id yarn.ContainerID) (p P, ran bool) {
	if p, ran = n.Exit(id, yarn.ExitKilledByRM, "killed by order of the ResourceManager"); !ran {
		n.Deny(id)
	}
	return p, ran
}

// Deny reports a container that does not run here as completed. It returns false if such a report
// is pending.
func (n *NodeManager[P]) Deny(id yarn.ContainerID) bool {
	if slices.ContainsFunc(n.news,
		func(s input.ContainerStatus) bool { return s.Container == id && s.State == yarn.ContainerCompleted }) {
		return false
	}
	n.remember(id)
	n.news = append(n.news, input.ContainerStatus{Container: id, State: yarn.ContainerCompleted,
		ExitStatus: yarn.ExitAborted})
	return true
}

// remember records an ended container. If the record is full, it replaces the oldest one.
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

// Ended reports whether a container has ended here. It knows the last endedMax containers.
func (n *NodeManager[P]) Ended(id yarn.ContainerID) bool {
	_, ended := n.ended[id]
	return ended
}

// Process returns the caller's data of a running container.
func (n *NodeManager[P]) Process(id yarn.ContainerID) (p P, ok bool) {
	p, ok = n.running[id]
	return p, ok
}

// Running returns the running containers, ordered by id.
func (n *NodeManager[P]) Running() []yarn.ContainerID {
	return slices.SortedFunc(maps.Keys(n.running), CompareContainers)
}

// Restart simulates a restart of the machine: no container runs any more, and no pending status is
// reported. It returns the containers that ran.
func (n *NodeManager[P]) Restart() map[yarn.ContainerID]P {
	lost := n.running
	for _, id := range n.Running() {
		n.remember(id)
	}
	n.running, n.news = nil, nil
	return lost
}

// Pending returns the statuses for the next heartbeat.
func (n *NodeManager[P]) Pending() []input.ContainerStatus { return n.news }

// Report returns and removes the statuses for a heartbeat. If the heartbeat fails, the caller must
// pass them to Unreported.
func (n *NodeManager[P]) Report() []input.ContainerStatus {
	said := n.news
	n.news = nil
	return said
}

// Unreported puts statuses back, before all newer ones.
func (n *NodeManager[P]) Unreported(said []input.ContainerStatus) {
	n.news = append(said[:len(said):len(said)], n.news...)
}

// Registration returns the container statuses of a registration: the completed ones among said, and
// all running containers.
func (n *NodeManager[P]) Registration(said []input.ContainerStatus) []input.ContainerStatus {
	var out []input.ContainerStatus
	for _, s := range said {
		if s.State == yarn.ContainerCompleted {
			out = append(out, s)
		}
	}
	return append(out, n.All()...)
}

// All returns the statuses of all running containers.
func (n *NodeManager[P]) All() []input.ContainerStatus {
	var out []input.ContainerStatus
	for _, id := range n.Running() {
		out = append(out, input.ContainerStatus{Container: id, State: yarn.ContainerRunning})
	}
	return out
}

// CompareContainers orders ids by application, attempt and number, so that runs are reproducible.
func CompareContainers(a, b yarn.ContainerID) int {
	return cmp.Or(cmp.Compare(a.App.ClusterTimestamp, b.App.ClusterTimestamp), cmp.Compare(a.App.Seq, b.App.Seq),
		cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.Number, b.Number))
}
