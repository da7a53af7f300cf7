package client

import (
	"fmt"
	"strings"

	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

func invalidResource(format string, args ...any) error {
	return exception(classInvalidResource, format, args...)
}

// amPlaces are the hosts and racks of am_container_resource_request, and whether
// the AM may run nowhere else. As in YARN they are for one container of the size
// that "*" asks; of two requests for one place the later one counts.
func amPlaces(sub *proto.ApplicationSubmissionContextProto) (places []yarn.Place, strict bool, err error) {
	at := map[string]int{} // looked up by key only
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

// amSize is what the AM asks for: the one request of am_container_resource_request
// that names "*", or the older field resource. Zero memory becomes the smallest
// container, as everywhere in YARN.
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
			return yarn.Resource{}, invalidResource("Invalid resource request! Cannot allocate containers as requested resource is less than 0! "+
				"Requested resource type=[%s], Requested resource=%s", name, javaResource(size, kinds))
		}
	}
	size[yarn.Memory] = max(size[yarn.Memory], 1)
	return size, nil
}

func amCapability(sub *proto.ApplicationSubmissionContextProto) (*proto.ResourceProto, error) {
	list := sub.GetAmContainerResourceRequest()
	if len(list) == 0 {
		if sub.Resource == nil {
			return nil, invalidResource("Invalid resource request, no resources requested")
		}
		return sub.Resource, noLabel(sub.GetNodeLabelExpression())
	}
	var anywhere *proto.ResourceRequestProto
	for _, r := range list {
		switch {
		case r.GetResourceName() != yarn.Any:
		case anywhere != nil:
			return nil, invalidResource("Invalid resource request, only one resource request with %s is allowed", yarn.Any)
		default:
			anywhere = r
		}
	}
	switch {
	case anywhere == nil:
		return nil, invalidResource("Invalid resource request, no resource request specified with %s", yarn.Any)
	case anywhere.Capability == nil:
		return nil, invalidResource("Invalid resource request, no resources requested")
	case anywhere.GetNodeLabelExpression() == "":
		if err := noLabel(sub.GetNodeLabelExpression()); err != nil {
			return nil, err
		}
	}
	for _, r := range list {
		if err := noLabel(r.GetNodeLabelExpression()); err != nil {
			return nil, err
		}
	}
	return anywhere.Capability, nil
}

// noLabel refuses a label while there are none (yarn.node-labels.enabled is
// false).
func noLabel(expression string) error {
	if expression == "" {
		return nil
	}
	return exception(classInvalidLabel, "Invalid resource request, node label not enabled but request contains label expression")
}

// javaResource writes a resource as Java's Resource.toString does.
func javaResource(r yarn.Resource, kinds yarn.Kinds) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<memory:%d, vCores:%d", r[yarn.Memory], r[yarn.VCores])
	for i := yarn.VCores + 1; i < min(len(kinds), yarn.MaxKinds); i++ {
		if r[i] != 0 {
			fmt.Fprintf(&b, ", %s: %d", kinds[i], r[i])
		}
	}
	return b.String() + ">"
}
