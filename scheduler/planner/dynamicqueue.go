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

// destination is the queue that an application goes to: an existing leaf, or queues that must be
// created.
type destination struct {
	leaf   int              // the index of the leaf, if nothing is created
	create []capacity.Queue // the queues to create, parents first
	queue  *capacity.Queue  // the leaf
	placed placement.Result // the result of the placement rules
}

// newQueue returns the destination of an application in a leaf that does not exist.
func (p *Planner) newQueue(name string, placed placement.Result) (destination, *input.Fault) {
	create, err := p.Config().Creatable(name)
	if p.belowManaged(name) {
		return p.newManaged(name, create, err, placed)
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

// createsBelow reports whether the lowest existing queue of a path creates queues by
// auto-queue-creation-v2.
func (p *Planner) createsBelow(path string) bool {
	for path != "" {
		if i, err := p.Config().Lookup(path); err == nil {
			return p.Config().Queues[i].ChildrenBy() == capacity.Flexible
		}
		path = yarn.ParentQueue(path)
	}
	return false
}

// maySubmit reports whether a user may submit to a destination. Queues to be created have the lists
// of their templates.
func (p *Planner) maySubmit(to destination, user string, groups []string) bool {
	if len(to.create) > 0 {
		return p.Config().MaySubmitToNew(to.create, user, groups...)
	}
	return p.Config().MaySubmit(to.leaf, user, groups...)
}

// roomAt returns a fault if the destination is not running, or has its maximum of applications. A
// queue to be created has no applications.
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

// createQueues creates the queues of a destination and returns the index of its leaf.
func (p *Planner) createQueues(to destination) int {
	for i := range to.create {
		q := &to.create[i]
		p.sched.Emit(&event.QueueCreated{Path: q.Path, Leaf: q.Leaf, State: yarn.QueueRunning})
		to.leaf = p.activateNew(len(p.Config().Queues) - 1)
	}
	return to.leaf
}

// idleEnd returns when a dynamic queue has been idle for too long.
func (p *Planner) idleEnd(slot state.QueueSlot, d *state.DynamicQueue) int64 {
	if d.IdleMillis == 0 || !p.Config().Queues[p.sched.IndexOf(slot)].AutoRemove {
		return never
	}
	return d.IdleMillis + p.Config().QueueExpirationMillis
}

func (p *Planner) idleQueuesAt() int64 {
	first := int64(never)
	p.st.DynamicQueues.Each(func(slot state.QueueSlot, d *state.DynamicQueue) bool {
		first = min(first, p.idleEnd(slot, d))
		return true
	})
	return first
}

// removeIdleQueues removes idle dynamic queues, as YARN's AutoCreatedQueueDeletionPolicy does. That
// policy removes a queue only in its second run after the expiration time; this method removes it
// as soon as the time is over. The expiration time of a parent begins when its last child is
// removed.
func (p *Planner) removeIdleQueues(in *input.RemoveIdleQueues) input.Reply {
	e := &event.QueuesRemoved{}
	p.st.DynamicQueues.Each(func(slot state.QueueSlot, d *state.DynamicQueue) bool {
		if p.idleEnd(slot, d) <= p.now {
			e.Paths = append(e.Paths, p.st.Queues.Get(slot).Path)
		}
		return len(e.Paths) < input.MaxQueuesRemoved
	})
	if len(e.Paths) > 0 {
		p.sched.Emit(e)
	}
	return in.NewReply()
}

// withDynamic adds the existing dynamic queues to a new configuration. Queues that the
// configuration lists become static. Queues without a place in it are removed, and removed lists
// them, deepest first. If one of those has applications, the result is a fault.
func (p *Planner) withDynamic(cfg *capacity.Config) (full *capacity.Config, removed []string, fault *input.Fault) {
	keep, gone := cfg.Remaining(p.st.DynamicQueueList())
	var used []string
	for _, d := range gone {
		if p.ends.HoldsApps(d.Path) {
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

// adoptQueue adds a dynamic queue to the configuration, with its current settings.
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

// few lists the first of many paths.
func few(paths []string) string {
	const most = 5
	if len(paths) <= most {
		return strings.Join(paths, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(paths[:most], ", "), len(paths)-most)
}

// dynamicNotes describes what a new configuration changes for dynamic queues.
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
