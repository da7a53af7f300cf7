package explain

import (
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/yarn"
)

// Explainer explains successive versions of the state. It builds a scheduler's lists once, and then
// updates them with the differences between versions, because building them is expensive with many
// applications. It is not safe for concurrent use, and keeps the last version in memory.
type Explainer struct{ s *scheduler.Scheduler }

// Explain explains why an application waits in a version of the state. It does not change this
// version, so others may read it at the same time.
func (x *Explainer) Explain(st *state.State, id yarn.ApplicationID) (*Explanation, error) {
	if err := x.Follow(st); err != nil {
		return nil, err
	}
	return Application(x.s, id)
}

// Last explains why an application waits in the last version that was explained. It is for long
// lists, and omits preemption. ok is false before the first call of Explain or Follow.
func (x *Explainer) Last(id yarn.ApplicationID) (doc *Explanation, ok bool, err error) {
	if x.s == nil {
		return nil, false, nil
	}
	doc, err = waiting(x.s, id)
	return doc, true, err
}

// Follow updates the explainer to a version of the state, so that the next question is fast.
func (x *Explainer) Follow(st *state.State) error {
	switch {
	case x.s != nil && x.s.State == st:
		return nil
	case x.s != nil && x.s.Config != nil && sameQueues(x.s.State, st):
		x.s.Rebase(st)
		return nil
	}
	s, err := scheduler.New(st, false)
	if err == nil {
		x.s = s
	}
	return err
}

// sameQueues reports whether two versions have the same configuration of the same cluster. A change
// of the configuration replaces its records, so the function compares their addresses.
func sameQueues(a, b *state.State) bool {
	return a.Versions.Current() != nil && a.Versions.Current() == b.Versions.Current() &&
		a.Meta.ClusterID == b.Meta.ClusterID
}
