// Package view makes the documents of rmd's API from one fork of the state. A View serves one
// request, and a Source makes views. Handlers, pages and Hadoop's documents use the same views, so
// they show the same. The package knows neither callers nor routes.
package view

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/transport/frontend"
	"rmd/transport/http/problem"
	"rmd/transport/http/summary"
	"rmd/yarn"
)

// View is a fork of the committed state with what is needed to make documents of it. It serves one
// request and is not safe for concurrent use.
type View struct {
	State *state.State
	Index uint64
	// NowMillis is the time of the view in Unix milliseconds. The state's own time is that of the last
	// entry with a decision, which may be long ago when nothing can be decided.
	NowMillis int64
	Kinds     yarn.Kinds
	Conf      *capacity.Config // nil before the cluster has queues
	Tree      *capacity.Tree   // for the default partition

	confs      *frontend.QueueConf
	partitions map[state.LabelSlot]*Partition
	sizes      map[yarn.Resource]api.Resource // equal resources share one document
	keeper     *summary.Keeper
	summary    *summary.Summary // made on first use
	demands    *[]demand        // of all waiting applications; made on first use
}

// Summary returns the summary of the state.
func (v *View) Summary() *summary.Summary {
	if v.summary == nil {
		v.summary = v.keeper.At(v.State, v.Index)
	}
	return v.summary
}

// maxSizes is the largest number of resources with a shared document.
const maxSizes = 4096

// Size returns a resource as a document with the cluster's names of kinds.
func (v *View) Size(r yarn.Resource) api.Resource {
	if have, ok := v.sizes[r]; ok {
		return have
	}
	out := make(api.Resource, len(v.Kinds))
	for i, name := range v.Kinds {
		out[name] = r[i]
	}
	if len(v.sizes) < maxSizes {
		v.sizes[r] = out
	}
	return out
}

// Amount converts a document to a resource. It returns an error for kinds that the cluster does not
// have. field is the name of the document's field, for errors.
func (v *View) Amount(field string, in api.Resource) (yarn.Resource, error) {
	var out yarn.Resource
	for name, n := range in { // the order does not matter: each name has its own place
		i := v.Kinds.Index(name)
		if i < 0 {
			return out, problem.New(api.CodeUnknownField,
				fmt.Sprintf("%s: %q is not a resource kind of this cluster", field, name),
				fmt.Sprintf("it has %v", []string(v.Kinds)), name)
		}
		if n < 0 || n > 1<<50 {
			return out, problem.Invalid(fmt.Sprintf("%s: %s is out of range", field, name), "give 0 to 2^50", name)
		}
		out[i] = n
	}
	return out, nil
}

// QueuePath returns the path of the queue in a slot, or "".
func (v *View) QueuePath(slot state.QueueSlot) string {
	if !v.State.Queues.Has(slot) {
		return "" // the queue of an ended application may be gone
	}
	return v.State.Queues.Get(slot).Path
}

// NodeID returns the id of the node in a slot, or "".
func (v *View) NodeID(slot state.NodeSlot) string {
	if !v.State.Nodes.Has(slot) {
		return ""
	}
	return v.State.Nodes.Get(slot).ID.String()
}

// candidatesNamed is the largest number of candidates that the error for an ambiguous name lists.
const candidatesNamed = 10

// ambiguous returns the error for a short name of several objects.
func ambiguous(what, text string, candidates []string) error {
	named := candidates[:min(len(candidates), candidatesNamed)]
	return problem.New(strings.ToUpper(what)+"_AMBIGUOUS", fmt.Sprintf("%q may mean %d %ss", text, len(candidates), what),
		"give one of "+strings.Join(named, ", "), named...)
}

// FindQueue returns the slot of the queue with a path, or with a unique short name.
func (v *View) FindQueue(name string) (state.QueueSlot, error) {
	if slot := v.State.Queues.Find(name); slot != 0 {
		return slot, nil
	}
	if v.Conf != nil {
		if i, err := v.Conf.Lookup(name); err == nil {
			if slot := v.State.Queues.Find(v.Conf.Queues[i].Path); slot != 0 {
				return slot, nil
			}
		}
	}
	var named []string
	v.State.Queues.Each(func(_ state.QueueSlot, q *state.Queue) bool {
		if q.Name == name {
			named = append(named, q.Path)
		}
		return true
	})
	if len(named) > 1 {
		slices.Sort(named)
		return 0, ambiguous("queue", name, named)
	}
	return 0, problem.New("NO_SUCH_QUEUE", fmt.Sprintf("there is no queue %q", name), "see \"rmd queue list\"")
}

// ParseApp parses an application's id, or its number.
func (v *View) ParseApp(text string) (yarn.ApplicationID, error) {
	if number, ok := yarn.ParseApplicationNumber(text); ok {
		return v.AppID(number), nil
	}
	id, err := yarn.ParseApplicationID(text)
	if err != nil {
		return id, problem.Invalid(err.Error(), "copy an id from \"rmd app list\", or give the number at its end")
	}
	return id, nil
}

// FindApp returns the id and slot of the application with an id or number.
func (v *View) FindApp(text string) (yarn.ApplicationID, state.AppSlot, error) {
	id, err := v.ParseApp(text)
	if err != nil {
		return id, 0, err
	}
	slot := v.State.Apps.ByID(id)
	if slot == 0 {
		return id, 0, problem.New("NO_SUCH_APPLICATION", "there is no application "+text,
			"see \"rmd app list\"; applications that ended long ago are forgotten")
	}
	return id, slot, nil
}

// FindNode returns the slot of the node with an id, a host, or a host without its domain.
func (v *View) FindNode(text string) (state.NodeSlot, error) {
	if id, err := yarn.ParseNodeID(text); err == nil {
		if slot := v.State.Nodes.Find(id); slot != 0 {
			return slot, nil
		}
	}
	for _, lead := range []string{text + ":", text + "."} {
		switch found := v.nodesFrom(lead); len(found) {
		case 0:
		case 1:
			return found[0], nil
		default:
			named := make([]string, 0, len(found))
			for _, slot := range found {
				named = append(named, v.NodeID(slot))
			}
			return 0, ambiguous("node", text, named)
		}
	}
	return 0, problem.New("NO_SUCH_NODE", fmt.Sprintf("there is no node %q", text),
		"see \"rmd node list\"; give its id, its host, or the host without the domain")
}

// nodesFrom returns the nodes whose id begins with lead, which ends within or right after the
// host's name.
func (v *View) nodesFrom(lead string) []state.NodeSlot {
	nodes := v.Summary().Nodes()
	host := func(i int) string { return v.State.Nodes.Get(nodes[i]).ID.Host }
	from := strings.TrimSuffix(lead, ":")
	first := sort.Search(len(nodes), func(i int) bool { return host(i) >= from })
	last := first
	for last < len(nodes) && strings.HasPrefix(host(last)+":", lead) {
		last++
	}
	return nodes[first:last]
}

// FindReservation returns the slot of the reservation with an id such as r41, or 41.
func (v *View) FindReservation(text string) (state.ReservationSlot, error) {
	number, err := ReservationNumber(text)
	if err != nil {
		return 0, err
	}
	slot := v.State.Reservations.Find(number)
	if slot == 0 {
		return 0, problem.New("NO_SUCH_RESERVATION", "there is no reservation "+text,
			"it may have been fulfilled or cancelled; see \"rmd reservation list\"")
	}
	return slot, nil
}

// Calculator returns the rule for comparing resources.
func (v *View) Calculator() yarn.Calculator {
	if v.Conf != nil {
		return v.Conf.Calculator
	}
	return yarn.Calculator{Kinds: len(v.Kinds)}
}
