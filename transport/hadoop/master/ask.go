package master

import (
	"strconv"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// readAsks returns the asks of an AM. As in YARN with opportunistic containers disabled, the
// execution type is ignored. An ask without memory is for the smallest container, and a negative
// count is 0.
func readAsks(list []*proto.ResourceRequestProto, st *state.State) ([]input.Ask, error) {
	kinds := st.Versions.Kinds()
	out := make([]input.Ask, len(list))
	for i, p := range list {
		if p.GetResourceName() == "" || p.Capability == nil {
			return nil, refusal(classInvalidAsk, "Invalid resource request, resource name or capability missing")
		}
		size, err := wire.Resource(p.Capability, kinds)
		if err != nil {
			return nil, refusal(classInvalidAsk, "Invalid resource request! %v", err)
		}
		for k, v := range size {
			if v < 0 {
				return nil, belowZero(size, k, kinds)
			}
		}
		size[yarn.Memory] = max(size[yarn.Memory], 1)
		out[i] = input.Ask{
			Key:   yarn.SchedulerKey{Priority: wire.Priority(p.Priority), AllocationID: p.GetAllocationRequestId()},
			Name:  p.GetResourceName(),
			Count: min(max(int64(p.GetNumContainers()), 0), input.MaxCount),
			Size:  size,
			Relax: p.GetRelaxLocality(),
			Label: wire.Label(p.NodeLabelExpression, st),
		}
	}
	return out, nil
}

// dropStrayPlaces removes asks for hosts and racks if the same call has no ask for "*" with their
// key. YARN stores such asks without effect. The planner refuses them if it does not have the key.
// It reports whether it removed any.
func dropStrayPlaces(in *input.Allocate) bool {
	anywhere := make(map[yarn.SchedulerKey]bool)
	for i := range in.Asks {
		if in.Asks[i].Name == yarn.Any {
			anywhere[in.Asks[i].Key] = true
		}
	}
	kept := in.Asks[:0:0]
	for _, k := range in.Asks {
		if k.Name == yarn.Any || anywhere[k.Key] {
			kept = append(kept, k)
		}
	}
	dropped := len(kept) < len(in.Asks)
	in.Asks = kept
	return dropped
}

// refused converts a planner's refusal of an allocate call to the AM's exception.
func (s *Service) refused(a *attempt, in *input.Allocate, f *input.Refusal) error {
	e := faulted(f)
	if e.Class != classInvalidAsk {
		return e
	}
	st := s.cfg.Reader.Fork()
	app := appOf(st, a.id)
	if app == nil {
		return e
	}
	queue, cluster := s.cfg.Maximum(st, app.Queue)
	for i := range in.Asks {
		if text := wire.AboveMaximum(in.Asks[i].Size, st.Nodes.MaximumAllocation(queue), cluster,
			st.Versions.Kinds()); text != "" && in.Asks[i].Count > 0 {
			return refusal(classInvalidAsk, "%s", text)
		}
	}
	return e
}

func belowZero(size yarn.Resource, kind int, kinds yarn.Kinds) error {
	return refusal(classInvalidAsk,
		"Invalid resource request! Cannot allocate containers as requested resource is less than 0! "+
			"Requested resource type=[%s], Requested resource=%s", kindName(kinds, kind), wire.ResourceText(size, kinds))
}

func kindName(kinds yarn.Kinds, i int) string {
	if i < len(kinds) {
		return kinds[i]
	}
	return strconv.Itoa(i)
}
