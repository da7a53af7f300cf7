package client

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"rmd/fsm/state"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
)

// filter selects the applications of a list. A nil set selects all.
type filter struct {
	types   map[string]bool // lower case
	states  map[proto.YarnApplicationStateProto]bool
	users   map[string]bool
	tags    map[string]bool
	name    *string
	owner   string // if not empty, only the applications of this user
	queues  *queueFilter
	started span
	ended   span
	limit   int64
	see     bool // leave out applications that the caller may not view
}

// span is a range of times in Unix milliseconds, including both ends.
type span struct{ from, to int64 }

func (r span) has(t int64) bool { return r.from <= t && t <= r.to }

// always contains every time.
var always = span{math.MinInt64, math.MaxInt64}

func spanOf(from, to *int64) span {
	if from == nil && to == nil {
		return always
	}
	r := span{0, math.MaxInt64}
	if from != nil {
		r.from = *from
	}
	if to != nil {
		r.to = *to
	}
	if r.from > r.to { // as Java's Range does
		r.from, r.to = r.to, r.from
	}
	return r
}

// queueFilter selects applications by queue: those that are scheduled in one of the queues or below
// it, and those whose queue has one of the paths.
type queueFilter struct {
	paths map[string]bool
	under map[state.QueueSlot]bool // slots of the leaves
}

func (v *view) queueFilter(names []string) *queueFilter {
	if len(names) == 0 {
		return nil
	}
	f := &queueFilter{paths: make(map[string]bool, len(names)), under: map[state.QueueSlot]bool{}}
	for _, name := range names {
		slot := v.s.cfg.Queues.Find(v.st, name)
		if slot == 0 {
			f.paths[name] = true
			continue
		}
		f.paths[v.queuePath(slot)] = true
		v.leaves(slot, func(leaf state.QueueSlot) { f.under[leaf] = true })
	}
	return f
}

// leaves calls f for every leaf of a subtree.
func (v *view) leaves(slot state.QueueSlot, f func(leaf state.QueueSlot)) {
	q := v.st.Queues.Get(slot)
	if q.Leaf {
		f(slot)
	}
	for _, child := range q.Children {
		v.leaves(child, f)
	}
}

// scheduled reports whether an application is in its queue now.
func scheduled(a *state.App) bool {
	return a.AttemptState >= state.AttemptPending && a.AttemptState <= state.AttemptFinishing
}

func (v *view) filter(req *proto.GetApplicationsRequestProto) *filter {
	f := &filter{
		users: set(req.GetUsers()), tags: set(req.GetApplicationTags()), name: req.Name,
		queues:  v.queueFilter(req.GetQueues()),
		started: spanOf(req.StartBegin, req.StartEnd), ended: spanOf(req.FinishBegin, req.FinishEnd), limit: math.MaxInt64,
	}
	if req.Limit != nil {
		f.limit = *req.Limit
	}
	for _, t := range req.GetApplicationTypes() {
		put(&f.types, strings.ToLower(t))
	}
	for _, s := range req.GetApplicationStates() {
		put(&f.states, s)
	}
	f.see = v.s.cfg.OwnOnly
	switch req.GetScope() {
	case proto.ApplicationsRequestScopeProto_OWN:
		f.owner = v.user
	case proto.ApplicationsRequestScopeProto_VIEWABLE:
		f.see = true
	}
	return f
}

func set(list []string) map[string]bool {
	var out map[string]bool
	for _, s := range list {
		put(&out, s)
	}
	return out
}

func put[K comparable](m *map[K]bool, k K) {
	if *m == nil {
		*m = map[K]bool{}
	}
	(*m)[k] = true
}

// pass reports whether an application matches the filter. The caller's right to view it is checked
// separately, because that check is the most expensive.
func (f *filter) pass(v *view, a *state.App) bool {
	switch {
	case f.states != nil && !f.states[wire.ApplicationState(a)],
		!f.started.has(a.SubmittedMillis), !f.ended.has(finished(a)),
		f.name != nil && *f.name != a.Details().Name,
		f.types != nil && !f.types[strings.ToLower(a.Details().Type)],
		f.tags != nil && !slices.ContainsFunc(a.Details().Tags, func(t string) bool { return f.tags[t] }):
		return false
	}
	if f.owner != "" || f.users != nil {
		user := v.st.Names.Text(a.User)
		if (f.owner != "" && f.owner != user) || (f.users != nil && !f.users[user]) {
			return false
		}
	}
	if f.queues != nil {
		return (scheduled(a) && f.queues.under[a.Queue]) || f.queues.paths[v.st.QueueOf(a)]
	}
	return true
}

// applications lists applications in the order of their submission.
func (s *Service) applications(ctx context.Context, c *ipc.Call,
	req *proto.GetApplicationsRequestProto) (*proto.GetApplicationsResponseProto, error) {
	v, err := s.read(ctx, c)
	if err != nil {
		return nil, err
	}
	f := v.filter(req)
	out := &proto.GetApplicationsResponseProto{}
	for _, slot := range v.pick(f) {
		if int64(len(out.Applications)) >= f.limit {
			break
		}
		a := v.st.Apps.Get(slot)
		see := v.hasRight(a, viewApp)
		if !see && f.see {
			continue
		}
		out.Applications = append(out.Applications, v.report(a, see))
	}
	return out, nil
}

// pick returns the slots of the applications that pass, by sequence number.
func (v *view) pick(f *filter) []state.AppSlot {
	type ref struct {
		seq  uint32
		slot state.AppSlot
	}
	var refs []ref
	v.st.Apps.Each(func(slot state.AppSlot, a *state.App) bool {
		if f.pass(v, a) {
			refs = append(refs, ref{a.ID.Seq, slot})
		}
		return true
	})
	slices.SortFunc(refs, func(a, b ref) int { return cmp.Compare(a.seq, b.seq) })
	out := make([]state.AppSlot, len(refs))
	for i, r := range refs {
		out[i] = r.slot
	}
	return out
}
