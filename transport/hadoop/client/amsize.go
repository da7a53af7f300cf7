package client

import (
	"strings"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

func invalidResource(format string, args ...any) error {
	return exception(classInvalidResource, format, args...)
}

// amPlaces returns the hosts and racks in am_container_resource_request, and whether the AM may run
// nowhere else. As in YARN, they are for one container with the size of the request for "*". If a
// place occurs twice, the later request counts.
func amPlaces(sub *proto.ApplicationSubmissionContextProto) (places []yarn.Place, strict bool, err error) {
	at := map[string]int{} // no iteration, so the order does not matter
	for _, r := range sub.GetAmContainerResourceRequest() {
		name := r.GetResourceName()
		switch i, again := at[name]; {
		case name == "":
			return nil, false, invalidResource("Invalid resource request, resource name missing")
		case name == yarn.Any:
			strict = !r.GetRelaxLocality()
		case again:
			places[i].Relax = r.GetRelaxLocality()
		default:
			at[name] = len(places)
			places = append(places, yarn.Place{Name: name, Relax: r.GetRelaxLocality()})
		}
	}
	return places, strict, nil
}

// readAM reads the request for the AM's container.
func readAM(sub *proto.ApplicationSubmissionContextProto, in *input.SubmitApplication, st *state.State) (err error) {
	if in.AM, err = amSize(sub, st.Versions.Kinds()); err != nil {
		return err
	}
	if in.AMLabel, err = amLabel(sub, in.Queue, st); err != nil {
		return err
	}
	in.AMPlaces, in.AMStrict, err = amPlaces(sub)
	return err
}

// amSize returns the size of the AM's container: that of the request for "*" in
// am_container_resource_request, or the older field resource. As everywhere in YARN, no memory
// means the smallest container.
func amSize(sub *proto.ApplicationSubmissionContextProto, kinds yarn.Kinds) (yarn.Resource, error) {
	capability, err := amCapability(sub)
	if err != nil {
		return yarn.Resource{}, err
	}
	size, err := wire.Resource(capability, kinds)
	if err != nil {
		return yarn.Resource{}, invalidResource("Invalid resource request, %v", err)
	}
	for i, name := range kinds {
		if i < yarn.MaxKinds && size[i] < 0 {
			return yarn.Resource{}, invalidResource(
				"Invalid resource request! Cannot allocate containers as requested resource is less than 0! "+
					"Requested resource type=[%s], Requested resource=%s", name, wire.ResourceText(size, kinds))
		}
	}
	size[yarn.Memory] = max(size[yarn.Memory], 1)
	return size, nil
}

func amCapability(sub *proto.ApplicationSubmissionContextProto) (*proto.ResourceProto, error) {
	if len(sub.GetAmContainerResourceRequest()) == 0 {
		if sub.Resource == nil {
			return nil, invalidResource("Invalid resource request, no resources requested")
		}
		return sub.Resource, nil
	}
	anywhere, err := amAnywhere(sub)
	switch {
	case err != nil:
		return nil, err
	case anywhere == nil:
		return nil, invalidResource("Invalid resource request, no resource request specified with %s", yarn.Any)
	case anywhere.Capability == nil:
		return nil, invalidResource("Invalid resource request, no resources requested")
	}
	return anywhere.Capability, nil
}

// amAnywhere returns the one request for "*" in am_container_resource_request, or nil if there is
// none.
func amAnywhere(sub *proto.ApplicationSubmissionContextProto) (anywhere *proto.ResourceRequestProto, err error) {
	for _, r := range sub.GetAmContainerResourceRequest() {
		switch {
		case r.GetResourceName() != yarn.Any:
		case anywhere != nil:
			return nil, invalidResource("Invalid resource request, only one resource request with %s is allowed", yarn.Any)
		default:
			anywhere = r
		}
	}
	return anywhere, nil
}

// amLabel returns the label in the AM's request. Requests for hosts and racks must not have one.
func amLabel(sub *proto.ApplicationSubmissionContextProto, queue string, st *state.State) (label string, err error) {
	for _, r := range sub.GetAmContainerResourceRequest() {
		named := wire.Label(r.NodeLabelExpression, st)
		switch {
		case r.GetResourceName() == yarn.Any:
			label = named
		case strings.TrimSpace(named) != "":
			return "",
				exception(classInvalidLabel,
					"Invalid resource request, queue=%s specified node label expression in a resource request has resource name = %s",
					queue, r.GetResourceName())
		}
	}
	return label, nil
}
