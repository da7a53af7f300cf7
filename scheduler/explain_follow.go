package scheduler

import (
	"rmd/fsm/state"
	"rmd/yarn"
)

// Explainer explains on one version of the state after the other. A planner's
// own lists cost the more the more applications there are; an explainer makes
// them once, and brings them up to date with what differs from version to
// version. It is not for concurrent use, and keeps the last version alive.
type Explainer struct{ p *Planner }

// Explain says why an application waits in a version of the state, which is only
// read: it may be one that others read too.
func (x *Explainer) Explain(st *state.State, id yarn.ApplicationID) (*Explanation, error) {
	if err := x.take(st); err != nil {
		return nil, err
	}
	return x.p.Explain(id)
}

// Follow brings the explainer to a version of the state, so that who asks next
// finds its lists made.
func (x *Explainer) Follow(st *state.State) error { return x.take(st) }

// Last explains on the version that was explained on last; ok is false before
// the first.
func (x *Explainer) Last(id yarn.ApplicationID) (doc *Explanation, ok bool, err error) {
	if x.p == nil {
		return nil, false, nil
	}
	doc, err = x.p.Explain(id)
	return doc, true, err
}

// take makes the planner one of the version given.
func (x *Explainer) take(st *state.State) error {
	if x.p != nil && x.p.st == st {
		return nil
	}
	if x.p == nil || x.p.cfg == nil || !sameQueues(x.p.st, st) {
		p, err := New(st, Options{})
		if err == nil {
			x.p = p
		}
		return err
	}
	x.p.move(st)
	return nil
}

// sameQueues says whether two versions have the same configuration, of the same
// cluster: its records are replaced whole, so they are the same ones.
func sameQueues(a, b *state.State) bool {
	return a.Version() != nil && a.Version() == b.Version() && a.Meta.ClusterID == b.Meta.ClusterID
}

// move brings a planner to another version of its state, one with the same
// queues. It is for explaining alone: the index of free room, which only planning
// looks at, stays as it is.
func (p *Planner) move(st *state.State) {
	old := p.st
	p.st = st
	p.stale = p.stale || old.Meta.Cluster != st.Meta.Cluster
	differ(&old.Users, &st.Users, p.refreshUser)
	differ(&old.Apps, &st.Apps, p.refreshApp)
	for i := range p.queues {
		p.queues[i].touch()
		p.refreshQueue(int32(i))
	}
}

// differ calls f with every slot whose record may not be the same in two versions
// of a table. Versions share the pages that neither has written to since they
// parted, so a record at the same place in memory is the same record.
func differ[T any](old, now *state.Table[T], f func(slot uint32)) {
	both := min(old.Cap(), now.Cap())
	for slot := uint32(1); slot < both; slot++ {
		if old.Get(slot) != now.Get(slot) {
			f(slot)
		}
	}
	for slot := max(both, 1); slot < max(old.Cap(), now.Cap()); slot++ {
		f(slot)
	}
}
