package planner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/scheduler/placement"
	"rmd/yarn"
)

// destination is where an application goes: a leaf, or queues that are created for it.
type destination struct {
	leaf   int              // its index, if nothing is created
	create []capacity.Queue // what does not exist yet, parents first
	queue  *capacity.Queue
	placed placement.Result // how rules placed it
}

// newQueue is the destination of an application in a leaf that does not exist.
func (p *Planner) newQueue(name string, placed placement.Result) (destination, *input.Fault) {
	create, err := p.Config().Creatable(name)
	if p.belowManaged(name) {
		return p.newManaged(name, create, err, placed)
	}
	if err == nil {
		err = p.levelForQueues(name)
	}
	switch {
	case err == nil:
		queues := p.Config().Candidates(create)
		return destination{create: queues, queue: &queues[len(queues)-1], placed: placed}, nil
	case placed.Queue != "" || p.createsBelow(name):
		return destination{}, input.Faultf(input.QueueNotCreated, "see \"rmd queue list\", and auto-queue-creation-v2 of the queue above", "%v", err)
	}
	return destination{}, input.Faultf(input.NoSuchQueue, "see \"rmd queue list\"", "there is no queue %q", name)
}

// levelForQueues says that the cluster's feature level is too low for a queue that a submission creates.
func (p *Planner) levelForQueues(name string) error {
	if p.st.Meta.Level >= event.LevelDynamicQueues {
		return nil
	}
	return fmt.Errorf("queue %s cannot be created automatically: the cluster is at feature level %d, and this needs level %d", name, p.st.Meta.Level, event.LevelDynamicQueues)
}

// createsBelow says whether the lowest queue of a path that exists creates queues.
func (p *Planner) createsBelow(path string) bool {
	for path != "" {
		if i, err := p.Config().Lookup(path); err == nil {
			return p.Config().Queues[i].ChildrenBy() == capacity.Flexible
		}
		path = path[:max(strings.LastIndexByte(path, '.'), 0)]
	}
	return false
}

// maySubmit asks the lists of a queue, and of those above it. Queues that are to be created have those of
// their templates.
func (p *Planner) maySubmit(to destination, user string, groups []string) bool {
	if len(to.create) > 0 {
		return p.Config().MaySubmitToNew(to.create, user, groups...)
	}
	return p.Config().MaySubmit(to.leaf, user, groups...)
}

// roomAt checks the state of queues and their maxima of applications. What is created has none yet.
func (p *Planner) roomAt(to destination, user string) *input.Fault {
	if len(to.create) == 0 {
		return p.roomInQueue(to.leaf, user)
	}
	for i := range to.create {
		if q := &to.create[i]; q.State != yarn.QueueRunning {
			return input.Faultf(input.QueueStopped, "remove \"state\" from the template", "queue %s would be created %s", q.Path, q.State)
		}
	}
	if to.queue.MaximumApplications == 0 && to.queue.Creation != capacity.Legacy {
		return input.Faultf(input.QueueFull, "raise maximum-applications in the template", "queue %s holds its maximum of 0 applications", to.queue.Path)
	}
	return p.running(int32(to.create[0].Parent))
}

// createQueues creates what a destination needs and returns the index of its leaf.
func (p *Planner) createQueues(to destination) int {
	for i := range to.create {
		q := &to.create[i]
		p.sched.Emit(&event.QueueCreated{Path: q.Path, Leaf: q.Leaf, State: yarn.QueueRunning})
		to.leaf = p.activateNew(len(p.Config().Queues) - 1)
	}
	return to.leaf
}

// removeIdleQueues removes dynamic queues as YARN's AutoCreatedQueueDeletionPolicy does, but when their
// time is up and not at the second look after that. A parent has the whole time after its last queue.
func (p *Planner) removeIdleQueues(in *input.RemoveIdleQueues) input.Reply {
	e := &event.QueuesRemoved{}
	idle := p.now - p.Config().QueueExpirationMillis
	p.st.DynamicQueues.Each(func(slot uint32, d *state.DynamicQueue) bool {
		if q := p.st.Queues.Get(slot); d.IdleMillis != 0 && d.IdleMillis <= idle && p.Config().Queues[p.sched.IndexOf(slot)].AutoRemove {
			e.Paths = append(e.Paths, q.Path)
		}
		return len(e.Paths) < input.MaxQueuesRemoved
	})
	if len(e.Paths) > 0 {
		p.sched.Emit(e)
	}
	return in.NewReply()
}

// withDynamic adds the dynamic queues that stay to a new configuration. Those that it lists become its
// own. Those that have no place there are removed, deepest first, which is refused while any has
// applications.
func (p *Planner) withDynamic(cfg *capacity.Config) (full *capacity.Config, removed []string, fault *input.Fault) {
	keep, gone := cfg.Remaining(p.st.DynamicQueueList())
	var used []string
	for _, d := range gone {
		if p.holdsApps(d.Path) {
			used = append(used, d.Path)
		} else {
			removed = append(removed, d.Path)
		}
	}
	if len(used) > 0 {
		fault = input.Faultf(input.InvalidQueues, "nothing was changed", "the queue configuration is invalid")
		fault.Details = []string{fmt.Sprintf("%s: dynamic queues with applications lose the queue above them; keep it as a parent, or wait for the applications or move them", few(used))}
		return nil, nil, fault
	}
	slices.Reverse(removed)
	full, err := cfg.WithDynamic(keep)
	if err != nil {
		return nil, nil, invalidQueues(err)
	}
	return full, removed, nil
}

// adoptQueue makes a dynamic queue one of the configuration. What it has stays as it is.
func (p *Planner) adoptQueue(in *input.AdoptQueue) input.Reply {
	i, err := p.Config().Lookup(in.Queue)
	if err != nil {
		return input.Refuse(in, input.Faultf(input.NoSuchQueue, "see \"rmd queue list\"", "%v", err))
	}
	props, err := p.Config().Adopt(i)
	if err != nil {
		return input.Refuse(in, input.Faultf(input.InvalidRequest, "only a queue that auto-queue-creation-v2 created can be adopted", "%v", err))
	}
	set := &input.SetQueues{IfVersion: in.IfVersion, Author: in.Author, Comment: cmp.Or(in.Comment, "adopt "+p.Config().Queues[i].Path), DryRun: in.DryRun}
	for _, q := range props {
		set.Properties = append(set.Properties, input.Property{Name: q.Name, Value: q.Value})
	}
	return p.setQueues(set)
}

// few lists the first of many queues.
func few(paths []string) string {
	const most = 5
	if len(paths) <= most {
		return strings.Join(paths, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(paths[:most], ", "), len(paths)-most)
}

// dynamicNotes tells what a new configuration means for dynamic queues.
func (p *Planner) dynamicNotes(cfg *capacity.Config, removed []string) (notes []string) {
	if len(removed) > 0 {
		notes = append(notes, fmt.Sprintf("dynamic queues lose the queue above them and are removed: %s", few(removed)))
	}
	var adopted []string
	changed := map[string][]string{} // by what changes; sorted below
	var kinds []string
	for _, d := range p.st.DynamicQueueList() {
		i, err := cfg.Lookup(d.Path)
		if err != nil || cfg.Queues[i].Path != d.Path {
			continue
		}
		old, _ := p.Config().Lookup(d.Path)
		switch what := p.Config().Changes(old, cfg, i); {
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
