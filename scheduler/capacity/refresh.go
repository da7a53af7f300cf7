package capacity

import (
	"fmt"

	"rmd/yarn"
)

// Validate checks whether this configuration may replace old. queueHasApps reports whether a queue
// of old, or a queue below it, has applications, and stopped whether it is STOPPED now. The error
// is an *Invalid with all reasons.
func (c *Config) Validate(old *Config, queueHasApps, stopped func(path string) bool) error {
	if old == nil {
		return nil
	}
	var faults []Fault
	add := func(name, what, do string) { faults = append(faults, Fault{Name: name, What: what, Do: do}) }
	c.validateKinds(old, add)
	for i := range old.Queues {
		was := &old.Queues[i]
		k, ok := c.byPath[was.Path]
		if !ok && was.Creation != Static {
			continue // Remaining and WithDynamic decide about it
		}
		if !ok {
			validateRemoval(was, queueHasApps, stopped, add)
			continue
		}
		c.Queues[k].validateManaged(was, &faults)
		c.validateKept(&c.Queues[k], was, queueHasApps, stopped, add)
	}
	if len(faults) > 0 {
		return &Invalid{Faults: faults}
	}
	return nil
}

// validateKinds checks that kinds of resources are only added at the end, because stored resources
// refer to kinds by index.
func (c *Config) validateKinds(old *Config, add func(name, what, do string)) {
	for k, kind := range old.Kinds {
		if k >= len(c.Kinds) || c.Kinds[k] != kind {
			add(resourceTypes, fmt.Sprintf("resource kind %q was known and is now missing or moved", kind),
				"keep the kinds in their order; new ones come last")
			return
		}
	}
}

func validateRemoval(was *Queue, hasApps, stopped func(string) bool, add func(name, what, do string)) {
	key := Prefix + was.Path
	switch {
	case was.Leaf && hasApps(was.Path):
		add(key, "the queue is removed but still holds applications",
			fmt.Sprintf("stop it, and wait for them or move them: rmd queue stop %s", was.Path))
	case !stopped(was.Path):
		add(key, "the queue is removed but is not STOPPED", fmt.Sprintf("stop it first: rmd queue stop %s", was.Path))
	}
}

func (c *Config) validateKept(q, was *Queue, hasApps, stopped func(string) bool, add func(name, what, do string)) {
	if was.Leaf && !q.Leaf {
		switch {
		case hasApps(was.Path):
			add(Prefix+q.Path+".queues", "a leaf that holds applications cannot become a parent",
				fmt.Sprintf("stop it and wait until it is empty: rmd queue stop %s", q.Path))
		case !stopped(was.Path):
			add(Prefix+q.Path+".queues", "a leaf that is not STOPPED cannot become a parent",
				fmt.Sprintf("stop it first: rmd queue stop %s", q.Path))
		}
	}
	if !was.Leaf || !q.Leaf {
		return
	}
	for k, kind := range c.Kinds {
		if q.MaxAlloc[k] < was.MaxAlloc[k] {
			add(Prefix+q.Path+"."+maxAllocKey(k), fmt.Sprintf("the largest container of a leaf may not shrink: %s from %d to %d",
				kind, was.MaxAlloc[k], q.MaxAlloc[k]),
				"keep the old value; containers asked for under it may be waiting")
		}
	}
}

// maxAllocKey returns the usual key for the largest container in terms of a kind.
func maxAllocKey(k int) string {
	switch k {
	case yarn.Memory:
		return "maximum-allocation-mb"
	case yarn.VCores:
		return "maximum-allocation-vcores"
	}
	return "maximum-allocation"
}
