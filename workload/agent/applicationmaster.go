package agent

import (
	"maps"
	"slices"

	"rmd/scheduler/input"
	"rmd/yarn"
)

// Group is a number of equal containers that an ApplicationMaster asks for with one priority. If
// Host is set, the group asks for one of them on that host.
type Group struct {
	Priority   int32
	Count      int64
	Size       yarn.Resource
	Host, Rack string
	Label      string // node label, as in input.Ask
}

// ApplicationMaster is the state of one attempt: the containers that it waits for, holds and
// releases, and the response id of its calls. It is done when the wanted number of containers of
// each group has succeeded.
type ApplicationMaster struct {
	ID yarn.AttemptID

	groups   []Group
	waiting  []int64 // by group: wanted, but not allocated
	left     int64   // containers that have not succeeded yet
	held     map[yarn.ContainerID]int
	known    map[yarn.ContainerID]bool // every allocated container; true: released as surplus
	releases []yarn.ContainerID        // for the next call
	response int32
	dirty    bool // the next call must contain the asks
}

// NewApplicationMaster returns an ApplicationMaster that has not registered yet.
func NewApplicationMaster(id yarn.AttemptID, groups []Group) *ApplicationMaster {
	m := &ApplicationMaster{ID: id, groups: groups, held: map[yarn.ContainerID]int{}, known: map[yarn.ContainerID]bool{}}
	for _, g := range groups {
		m.waiting = append(m.waiting, g.Count)
		m.left += g.Count
	}
	return m
}

// Registered starts or restarts the calls after a registration. The next call contains all asks.
func (m *ApplicationMaster) Registered() { m.response, m.dirty = 0, true }

// Forget drops all held containers and asks for them again.
func (m *ApplicationMaster) Forget() {
	for _, group := range m.held {
		m.waiting[group]++
	}
	clear(m.held)
}

// Allocate returns the next call. After a call without an answer, it has the same response id as
// that call.
func (m *ApplicationMaster) Allocate() *input.Allocate {
	in := &input.Allocate{Attempt: m.ID, Response: m.response, Releases: m.releases}
	if m.dirty {
		in.Asks = m.asks()
	}
	return in
}

func (m *ApplicationMaster) asks() []input.Ask {
	var out []input.Ask
	for i, g := range m.groups {
		ask := func(name string, count int64) {
			out = append(out, input.Ask{Key: yarn.SchedulerKey{Priority: g.Priority}, Name: name, Count: count,
				Size: g.Size, Relax: true})
		}
		ask(yarn.Any, m.waiting[i])
		out[len(out)-1].Label = g.Label
		if g.Host != "" {
			ask(g.Host, min(m.waiting[i], 1))
			ask(g.Rack, m.waiting[i])
		}
	}
	return out
}

// Relabel changes the node label of all groups, from the next call on.
func (m *ApplicationMaster) Relabel(label string) {
	m.groups, m.dirty = slices.Clone(m.groups), true
	for i := range m.groups {
		m.groups[i].Label = label
	}
}

// Answered processes the response id of an answer. It returns false if the answer is old and the
// caller must ignore its content. The server may answer an old call as a new one, because it does
// not store idle answers.
func (m *ApplicationMaster) Answered(in *input.Allocate, r *input.AllocateReply) bool {
	switch {
	case in.Response == m.response:
		m.response, m.releases, m.dirty = r.Response, nil, false
	case r.Response == m.response:
		m.dirty = true // the asks of an old call may differ from the current ones
	default:
		return false
	}
	return true
}

// Grant says how the ApplicationMaster treats an allocated container.
type Grant int

// The kinds of Grant.
const (
	Taken   Grant = iota // held; the caller starts it
	Again                // known already
	Surplus              // not needed; the next call releases it
	Unasked              // belongs to no group
)

// Granted processes an allocated container.
func (m *ApplicationMaster) Granted(g input.Granted) Grant {
	if _, again := m.known[g.Container]; again {
		return Again
	}
	i := slices.IndexFunc(m.groups, func(of Group) bool { return of.Priority == g.Key.Priority })
	if i < 0 {
		return Unasked
	}
	surplus := m.waiting[i] == 0
	m.known[g.Container] = surplus
	if surplus {
		m.Release(g.Container)
		return Surplus
	}
	m.waiting[i]--
	m.held[g.Container] = i
	return Taken
}

// Release releases a container with the next call.
func (m *ApplicationMaster) Release(id yarn.ContainerID) { m.releases = append(m.releases, id) }

// Completed processes a completed container. If the container failed, the ApplicationMaster asks
// for another one. Completed returns false for a container that was neither held nor released as
// surplus.
func (m *ApplicationMaster) Completed(s input.ContainerStatus) bool {
	group, held := m.held[s.Container]
	if !held {
		return m.known[s.Container]
	}
	delete(m.held, s.Container)
	if s.ExitStatus == yarn.ExitSuccess {
		m.left--
	} else {
		m.waiting[group]++
		m.dirty = true
	}
	return true
}

// Done reports whether all wanted containers have succeeded.
func (m *ApplicationMaster) Done() bool { return m.left == 0 }

// Response returns the response id of the last answer.
func (m *ApplicationMaster) Response() int32 { return m.response }

// Held returns the held containers, ordered by id.
func (m *ApplicationMaster) Held() []yarn.ContainerID {
	return slices.SortedFunc(maps.Keys(m.held), CompareContainers)
}

// Waiting returns for each group the number of containers that are not allocated.
func (m *ApplicationMaster) Waiting() []int64 { return m.waiting }

// Left returns the number of containers that have not succeeded yet.
func (m *ApplicationMaster) Left() int64 { return m.left }
