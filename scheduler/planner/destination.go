package planner

import (
	"cmp"
	"errors"
	"strings"

	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/scheduler/placement"
	"rmd/scheduler/views"
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

// destinations says where an application may go. It creates no queue.
type destinations struct{ views *views.Views }

// of returns the queue of an application: the one that placement rules choose, or else
// the one that it names.
func (ds destinations) of(in *input.SubmitApplication) (destination, *input.Refusal) {
	placed := ds.views.Config.Place(placement.Submission{User: in.User, Groups: in.Groups, Application: in.Name,
		Queue: in.Queue, Tags: in.Tags, TagGroups: in.TagGroups})
	if placed.Rejected {
		return destination{}, input.Refusef(input.PlacementRejected, "\"rmd queue place\" says which rule, and why",
			"a placement rule rejects the application")
	}
	name := cmp.Or(placed.Queue, in.Queue, "default")
	if _, err := ds.views.Config.Lookup(name); errors.Is(err, capacity.ErrNoSuchQueue) && strings.Contains(name, ".") {
		name = ds.views.Config.FullPath(name)
		if _, err := ds.views.Config.Lookup(name); err != nil {
			return ds.newQueue(name, placed)
		}
	}
	leaf, fault := ds.leafNamed(name)
	if fault == nil && placed.Queue == "" && ds.views.Config.Queues[leaf].Creation == capacity.Legacy {
		fault = notMapped(name)
	}
	return destination{leaf: leaf, queue: &ds.views.Config.Queues[leaf], placed: placed}, fault
}

func (ds destinations) leafNamed(name string) (int, *input.Refusal) {
	i, err := ds.views.Config.Lookup(name)
	switch {
	case errors.Is(err, capacity.ErrAmbiguousQueue):
		return 0, input.Refusef(input.QueueAmbiguous, "use the full path", "%v", err)
	case err != nil:
		return 0, input.Refusef(input.NoSuchQueue, "see \"rmd queue list\"", "there is no queue %q", name)
	case !ds.views.Config.Queues[i].Leaf:
		return 0, input.Refusef(input.QueueNotLeaf, "name one of its leaves", "%s is a parent queue",
			ds.views.Config.Queues[i].Path)
	}
	return i, nil
}

// roomInQueue returns a fault if a leaf is not running, or has its maximum of applications.
func (ds destinations) roomInQueue(leaf int, user string) *input.Refusal {
	q := ds.views.Queue(int32(leaf))
	if fault := ds.running(int32(leaf)); fault != nil {
		return fault
	}
	if ds.views.Config.Queues[leaf].Creation == capacity.Legacy {
		return nil // YARN does not limit the number of applications there
	}
	if most := ds.views.Config.MaxApplications(leaf, ds.views.TreeOf); int64(q.Apps()) >= most {
		return input.Refusef(input.QueueFull, "wait for applications to end, or raise maximum-applications",
			"queue %s holds its maximum of %d applications", q.Path, most)
	}
	apps := int64(0)
	if u := ds.views.State.Users.Find(ds.views.State.Queues.Find(q.Path), ds.views.State.Names.Find(user)); u != 0 {
		// As in YARN, non-runnable applications do not count.
		apps = int64(ds.views.State.Users.Get(u).Active + ds.views.State.Users.Get(u).Pending)
	}
	// may be 0: a share of a small maximum
	if most := ds.views.Config.MaxApplicationsPerUser(leaf, ds.views.TreeOf); apps >= most {
		return input.Refusef(input.QueueFull,
			"wait for applications to end, or raise maximum-applications or minimum-user-limit-percent",
			"user %s has the maximum of %d applications in %s", user, most, q.Path)
	}
	return nil
}

// running returns a fault if a queue, or a queue above it, is stopped.
func (ds destinations) running(i int32) *input.Refusal {
	for ; i >= 0; i = int32(ds.views.Config.Queues[i].Parent) {
		if a := ds.views.Queue(i); a.State != yarn.QueueRunning {
			return input.Refusef(input.QueueStopped, "start it with \"rmd queue start\" or use another queue", "queue %s is %s",
				a.Path, a.State)
		}
	}
	return nil
}

// newQueue returns the destination of an application in a leaf that does not exist.
func (ds destinations) newQueue(name string, placed placement.Result) (destination, *input.Refusal) {
	create, err := ds.views.Config.Creatable(name)
	if ds.belowManaged(name) {
		return ds.newManaged(name, create, err, placed)
	}
	switch {
	case err == nil:
		queues := ds.views.Config.Candidates(create)
		return destination{create: queues, queue: &queues[len(queues)-1], placed: placed}, nil
	case placed.Queue != "" || ds.createsBelow(name):
		return destination{}, input.Refusef(input.QueueNotCreated,
			"see \"rmd queue list\", and auto-queue-creation-v2 of the queue above", "%v", err)
	}
	return destination{}, input.Refusef(input.NoSuchQueue, "see \"rmd queue list\"", "there is no queue %q", name)
}

// createsBelow reports whether the lowest existing queue of a path creates queues by
// auto-queue-creation-v2.
func (ds destinations) createsBelow(path string) bool {
	for path != "" {
		if i, err := ds.views.Config.Lookup(path); err == nil {
			return ds.views.Config.Queues[i].ChildrenBy() == capacity.Flexible
		}
		path = yarn.ParentQueue(path)
	}
	return false
}

// maySubmit reports whether a user may submit to a destination. Queues to be created have the lists
// of their templates.
func (ds destinations) maySubmit(to destination, user string, groups []string) bool {
	if len(to.create) > 0 {
		return ds.views.Config.MaySubmitToNew(to.create, user, groups...)
	}
	return ds.views.Config.MaySubmit(to.leaf, user, groups...)
}

// roomAt returns a fault if the destination is not running, or has its maximum of applications. A
// queue to be created has no applications.
func (ds destinations) roomAt(to destination, user string) *input.Refusal {
	if len(to.create) == 0 {
		return ds.roomInQueue(to.leaf, user)
	}
	for i := range to.create {
		if q := &to.create[i]; q.State != yarn.QueueRunning {
			return input.Refusef(input.QueueStopped, "remove \"state\" from the template", "queue %s would be created %s",
				q.Path, q.State)
		}
	}
	if to.queue.MaximumApplications == 0 && to.queue.Creation != capacity.Legacy {
		return input.Refusef(input.QueueFull, "raise maximum-applications in the template",
			"queue %s holds its maximum of 0 applications", to.queue.Path)
	}
	return ds.running(int32(to.create[0].Parent))
}

// belowManaged reports whether the parent of a path is a managed parent.
func (ds destinations) belowManaged(path string) bool {
	i, err := ds.views.Config.Lookup(yarn.ParentQueue(path))
	return err == nil && ds.views.Config.Queues[i].ChildrenBy() == capacity.Legacy
}

// newManaged returns the destination of an application in a leaf that must be created below a
// managed parent. Only a placement rule may choose such a leaf.
func (ds destinations) newManaged(name string, create []yarn.DynamicQueue, err error,
	placed placement.Result) (destination, *input.Refusal) {
	switch {
	case placed.Queue == "" && err != nil:
		return destination{}, input.Refusef(input.NoSuchQueue, "see \"rmd queue list\"", "there is no queue %q", name)
	case placed.Queue == "":
		return destination{}, notMapped(name)
	case err != nil:
		return destination{}, input.Refusef(input.QueueNotCreated,
			"see \"rmd queue list\", and auto-create-child-queue of the queue above", "%v", err)
	}
	queues := ds.views.Config.Candidates(create)
	return destination{create: queues, queue: &queues[0], placed: placed}, nil
}

func notMapped(name string) *input.Refusal {
	return input.Refusef(input.QueueNotMapped, "add a rule to queue-mappings that leads there, and name no queue",
		"queue %s is below a parent with auto-create-child-queue, and no placement rule leads to it", name)
}
