package agent

import (
	"maps"
	"slices"

	"rmd/scheduler/input"
	"rmd/yarn"
)

// Group is what an ApplicationMaster wants under one priority: a number of containers of one size,
// one of them at a host when that is named.
type Group struct {
	Priority   int32
	Count      int64
	Size       yarn.Resource
	Host, Rack string
	Label      string // of the nodes; as in input.Ask
}

// ApplicationMaster is one attempt's: what it waits for, holds and gives back, and how far its calls
// have come. It is done when as many containers of each group as were wanted have ended well.
type ApplicationMaster struct {
	ID yarn.AttemptID

	groups   []Group
	waiting  []int64 // by group: asked for, or to be asked for, and not granted
	left     int64   // containers that have yet to end well
	held     map[yarn.ContainerID]int
	known    map[yarn.ContainerID]bool // every grant heard of; true: given back as more than was wanted
	releases []yarn.ContainerID        // to be told
	response int32
	dirty    bool // the asks are to be told
}

// NewApplicationMaster is one that is yet to register.
func NewApplicationMaster(id yarn.AttemptID, groups []Group) *ApplicationMaster {
	m := &ApplicationMaster{ID: id, groups: groups, held: map[yarn.ContainerID]int{}, known: map[yarn.ContainerID]bool{}}
	for _, g := range groups {
		m.waiting = append(m.waiting, g.Count)
		m.left += g.Count
	}
	return m
}

// Registered begins the calls, or begins them again: everything is asked for again.
func (m *ApplicationMaster) Registered() { m.response, m.dirty = 0, true }

// Forget gives up all that it holds, and wants it again.
func (m *ApplicationMaster) Forget() {
	for _, group := range m.held {
		m.waiting[group]++
	}
	clear(m.held)
}

// Allocate is the next call. One that was not answered is made again, with the same response number.
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
			out = append(out, input.Ask{Key: yarn.SchedulerKey{Priority: g.Priority}, Name: name, Count: count, Size: g.Size, Relax: true})
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

// Relabel has all groups ask for nodes of a label, with the next call.
func (m *ApplicationMaster) Relabel(label string) {
	m.groups, m.dirty = slices.Clone(m.groups), true
	for i := range m.groups {
		m.groups[i].Label = label
	}
}

// Answered takes in the number of an answer; false when it is an old one, whose content counts no
// more. An old call may be answered as a new one: when its first answer was idle, nobody wrote it
// down.
func (m *ApplicationMaster) Answered(in *input.Allocate, r *input.AllocateReply) bool {
	switch {
	case in.Response == m.response:
		m.response, m.releases, m.dirty = r.Response, nil, false
	case r.Response == m.response:
		m.dirty = true // its asks were those of then
	default:
		return false
	}
	return true
}

// Grant is what becomes of a container that was granted.
type Grant int

// The kinds of Grant.
const (
	Taken   Grant = iota // it is held; somebody is to start it
	Again                // it was heard of before
	Surplus              // nobody waits for it: it is given back
	Unasked              // it is of no group
)

// Granted takes in a grant.
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

// Release gives a container back with the next call.
func (m *ApplicationMaster) Release(id yarn.ContainerID) { m.releases = append(m.releases, id) }

// Completed takes in the end of a container; one that did not end well is asked for again. It is
// false for a container that is neither held nor was given back as surplus.
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

// Done says whether all that was wanted has ended well.
func (m *ApplicationMaster) Done() bool { return m.left == 0 }

// Response is the number of the last answer.
func (m *ApplicationMaster) Response() int32 { return m.response }

// Held are the containers that it holds, in the order of their ids.
func (m *ApplicationMaster) Held() []yarn.ContainerID {
	return slices.SortedFunc(maps.Keys(m.held), CompareContainers)
}

// Waiting counts by group what is not granted.
func (m *ApplicationMaster) Waiting() []int64 { return m.waiting }

// Left counts the containers that have yet to end well.
func (m *ApplicationMaster) Left() int64 { return m.left }
