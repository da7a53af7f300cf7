package view

import (
	"fmt"
	"slices"
	"strconv"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/diff"
	"rmd/transport/frontend"
	"rmd/transport/http/problem"
	"rmd/yarn"
)

// diffVersions lists the changes between two versions of the queue configuration.
func diffVersions(from, to *state.QueueVersion) ([]api.Change, error) {
	a, err := capacity.ParseStored(frontend.Properties(from))
	if err != nil {
		return nil, fmt.Errorf("configuration version %d: %w", from.Version, err)
	}
	b, err := capacity.ParseStored(frontend.Properties(to))
	if err != nil {
		return nil, fmt.Errorf("configuration version %d: %w", to.Version, err)
	}
	return Changes(diff.Of(a, b)), nil
}

// Changes returns the documents of changes, with masked secrets.
func Changes(in []diff.Change) []api.Change {
	out := make([]api.Change, 0, len(in))
	for _, k := range in {
		out = append(out, api.Change{Kind: k.Kind.String(), Queue: k.Queue, Key: k.Key, Old: MaskProperty(k.Key, k.Old),
			New: MaskProperty(k.Key, k.New)})
	}
	return out
}

// QueueHasApps reports whether a queue or a queue below it has applications.
func QueueHasApps(st *state.State, path string) bool {
	slot := st.Queues.Find(path)
	return slot != 0 && st.Queues.HoldsApps(slot)
}

// QueueStopped reports whether a queue is stopped.
func QueueStopped(st *state.State, path string) bool {
	slot := st.Queues.Find(path)
	return slot != 0 && st.Queues.Get(slot).State == yarn.QueueStopped
}

// ConfDoc returns the document of a version of the queue configuration, with masked secrets.
func ConfDoc(ver *state.QueueVersion) api.Conf {
	d := api.Conf{Version: ver.Version, AtMillis: ver.AtMillis, Author: ver.Author, Comment: ver.Comment, Kinds: ver.Kinds,
		Properties: map[string]string{}}
	for _, p := range ver.Properties {
		d.Properties[p.Name] = MaskProperty(p.Name, p.Value)
	}
	return d
}

// ConfVersions lists the versions that the state still has, newest first. A limit of 0 means all.
func (v *View) ConfVersions(limit int) ([]api.ConfVersion, error) {
	out := []api.ConfVersion{}
	all := v.State.Versions
	for i := len(all) - 1; i >= 0 && (limit == 0 || len(out) < limit); i-- {
		ver := &all[i]
		line := api.ConfVersion{Version: ver.Version, AtMillis: ver.AtMillis, Author: ver.Author, Comment: ver.Comment,
			Current: i == len(all)-1}
		if i > 0 {
			changes, err := diffVersions(&all[i-1], ver)
			if err != nil {
				return nil, err
			}
			line.Changes = len(changes)
		}
		out = append(out, line)
	}
	return out, nil
}

// FindVersion returns the version of the configuration with the number, or the current one for
// "current".
func (v *View) FindVersion(text string) (*state.QueueVersion, error) {
	st := v.State
	if st.Versions.Current() == nil {
		return nil, problem.NoQueues()
	}
	if text == "current" {
		return st.Versions.Current(), nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return nil, problem.Invalid(fmt.Sprintf("%q is not a version", text), "give a number, or current")
	}
	i := slices.IndexFunc(st.Versions, func(v state.QueueVersion) bool { return v.Version == n })
	if i < 0 {
		return nil, problem.New("NO_SUCH_VERSION", fmt.Sprintf("version %d is not kept", n),
			fmt.Sprintf("the versions %d to %d are", st.Versions[0].Version, st.Versions.Current().Version))
	}
	return &st.Versions[i], nil
}

// ConfDiff returns the changes between two versions. The names are those of FindVersion.
func (v *View) ConfDiff(from, to string) (api.ConfDiff, error) {
	a, err := v.FindVersion(from)
	if err != nil {
		return api.ConfDiff{}, err
	}
	b, err := v.FindVersion(to)
	if err != nil {
		return api.ConfDiff{}, err
	}
	changes, err := diffVersions(a, b)
	return api.ConfDiff{From: a.Version, To: b.Version, Changes: changes}, err
}
