package explain

import (
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/yarn"
)

// Explainer explains on one version of the state after the other. A scheduler's
// own lists cost the more the more applications there are; an explainer makes
// them once, and brings them up to date with what differs from version to
// version. It is not for concurrent use, and keeps the last version alive.
type Explainer struct{ s *scheduler.Scheduler }

// Explain says why an application waits in a version of the state, which is only
// read: it may be one that others read too.
func (x *Explainer) Explain(st *state.State, id yarn.ApplicationID) (*Explanation, error) {
	if err := x.Follow(st); err != nil {
		return nil, err
	}
	return Application(x.s, id)
}

// Last says why an application waits in the version that was explained on last, for lists of many:
// it leaves preemption out. ok is false before the first.
func (x *Explainer) Last(id yarn.ApplicationID) (doc *Explanation, ok bool, err error) {
	if x.s == nil {
		return nil, false, nil
	}
	doc, err = waiting(x.s, id)
	return doc, true, err
}

// Follow brings the explainer to a version of the state, so that the next
// question finds its lists made.
func (x *Explainer) Follow(st *state.State) error {
	switch {
	case x.s != nil && x.s.State() == st:
		return nil
	case x.s != nil && x.s.Config() != nil && sameQueues(x.s.State(), st):
		x.s.Rebase(st)
		return nil
	}
	s, err := scheduler.New(st, false)
	if err == nil {
		x.s = s
	}
	return err
}

// sameQueues says whether two versions have the same configuration, of the same
// cluster: its records are replaced whole, so they are the same ones.
func sameQueues(a, b *state.State) bool {
	return a.Version() != nil && a.Version() == b.Version() && a.Meta.ClusterID == b.Meta.ClusterID
}
