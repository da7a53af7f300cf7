package planner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
)

// withDynamic adds the existing dynamic queues to a new configuration. Queues that the
// configuration lists become static. Queues without a place in it are removed, and removed lists
// them, deepest first. If one of those has applications, the result is a fault.
func (qs *queues) withDynamic(cfg *capacity.Config) (full *capacity.Config, removed []string, fault *input.Refusal) {
	keep, gone := cfg.Remaining(qs.st.DynamicQueueList())
	var used []string
	for _, d := range gone {
		if qs.ends.HoldsApps(d.Path) {
			used = append(used, d.Path)
		} else {
			removed = append(removed, d.Path)
		}
	}
	if len(used) > 0 {
		fault = input.Refusef(input.InvalidQueues, "nothing was changed", "the queue configuration is invalid")
		fault.Details = []string{
			fmt.Sprintf("%s: dynamic queues with applications lose the queue above them; keep it as a parent, or wait for the applications or move them", few(used))}
		return nil, nil, fault
	}
	slices.Reverse(removed)
	full, err := cfg.WithDynamic(keep)
	if err != nil {
		return nil, nil, invalidQueues(err)
	}
	return full, removed, nil
}

// adopt adds a dynamic queue to the configuration, with its current settings.
func (qs *queues) adopt(in *input.AdoptQueue) input.Reply {
	i, err := qs.sched.Config.Lookup(in.Queue)
	if err != nil {
		return input.Refuse(in, input.Refusef(input.NoSuchQueue, "see \"rmd queue list\"", "%v", err))
	}
	props, err := qs.sched.Config.Adopt(i)
	if err != nil {
		return input.Refuse(in, input.Refusef(input.InvalidRequest,
			"only a queue that auto-queue-creation-v2 created can be adopted", "%v", err))
	}
	set := &input.SetQueues{IfVersion: in.IfVersion, Author: in.Author,
		Comment: cmp.Or(in.Comment, "adopt "+qs.sched.Config.Queues[i].Path), DryRun: in.DryRun}
	for _, q := range props {
		set.Properties = append(set.Properties, input.Property{Name: q.Name, Value: q.Value})
	}
	return qs.set(set)
}

// few lists the first of many paths.
func few(paths []string) string {
	const most = 5
	if len(paths) <= most {
		return strings.Join(paths, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(paths[:most], ", "), len(paths)-most)
}

// dynamicNotes describes what a new configuration changes for dynamic queues.
func (qs *queues) dynamicNotes(cfg *capacity.Config, removed []string) (notes []string) {
	if len(removed) > 0 {
		notes = append(notes, fmt.Sprintf("dynamic queues lose the queue above them and are removed: %s", few(removed)))
	}
	var adopted []string
	changed := map[string][]string{} // by what changes; sorted below
	var kinds []string
	for _, d := range qs.st.DynamicQueueList() {
		i, err := cfg.Lookup(d.Path)
		if err != nil || cfg.Queues[i].Path != d.Path {
			continue
		}
		old, _ := qs.sched.Config.Lookup(d.Path)
		switch what := qs.sched.Config.Changes(old, cfg, i); {
		case cfg.Queues[i].Creation == capacity.Static:
			adopted = append(adopted, d.Path)
		case len(what) > 0:
			kind := strings.Join(what, ", ")
			if changed[kind] == nil {
				kinds = append(kinds, kind)
			}
			changed[kind] = append(changed[kind], d.Path)
		}
	}
	if len(adopted) > 0 {
		notes = append(notes, fmt.Sprintf("dynamic queues become queues of the configuration: %s", few(adopted)))
	}
	slices.SortFunc(kinds, cmp.Compare[string])
	for _, kind := range kinds {
		notes = append(notes, fmt.Sprintf("%s of dynamic queues changes: %s", kind, few(changed[kind])))
	}
	return notes
}
