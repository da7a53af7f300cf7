package planner

import (
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/scheduler/views"
	"rmd/yarn"
)

// sizeRules says which sizes of containers the applications of a queue may ask for.
type sizeRules struct{ views *views.Views }

// largest returns the largest container that applications of a queue may ask for now.
func (s sizeRules) largest(q *capacity.Queue) yarn.Resource {
	return s.views.State.Nodes.MaximumAllocation(q.MaxAlloc)
}

// neverFits returns a fault if a size is above the largest container of a queue, by its
// configuration or by the largest running node.
func (s sizeRules) neverFits(size yarn.Resource, q *capacity.Queue, who string) *input.Refusal {
	most, show := s.largest(q), s.views.Config.Kinds.Format
	switch {
	case s.withinMaximum(size, most):
		return nil
	case s.withinMaximum(size, q.MaxAlloc):
		return input.Refusef(input.NeverFits, "ask for less, or add a larger node",
			"%s asks %s; the largest container of %s is %s, because no running node has more",
			who, show(size), q.Path, show(most))
	}
	return input.Refusef(input.NeverFits, "ask for less, or raise maximum-allocation",
		"%s asks %s; the largest container of %s is %s, so it can never fit",
		who, show(size), q.Path, show(q.MaxAlloc))
}

func (s sizeRules) withinMaximum(size, most yarn.Resource) bool {
	if !s.views.Config.Calculator.Dominant {
		return size[yarn.Memory] <= most[yarn.Memory] && size[yarn.VCores] <= most[yarn.VCores]
	}
	return size.Within(most)
}

func (s sizeRules) normalize(size yarn.Resource, leaf int) yarn.Resource {
	return s.views.Config.Calculator.Normalize(size, s.views.Config.MinAlloc, s.largest(&s.views.Config.Queues[leaf]))
}
