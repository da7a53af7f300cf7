package client

import (
	"rmd/scheduler/input"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// Limits for the tags of a stored application, larger than YARN's defaults.
const (
	storedTags      = 100
	storedTagLength = 256
)

// StoredSubmission reads the context of an application from the state store of another
// ResourceManager. The lifetime is not read from the context, because it may have changed since.
func StoredSubmission(context []byte, user string, kinds yarn.Kinds) (*input.SubmitApplication, error) {
	sub, err := wire.Submission(context)
	if err != nil {
		return nil, err
	}
	s := &Service{cfg: Config{MaxTags: storedTags, MaxTagLength: storedTagLength}}
	in, err := s.submission(sub, user)
	if err != nil {
		return nil, err
	}
	in.Context = context
	if sub.ReservationId != nil {
		return nil, yarnException(reservationsOff)
	}
	in.Label = storedLabel(sub.NodeLabelExpression)
	if in.Unmanaged {
		return in, nil
	}
	for _, r := range sub.GetAmContainerResourceRequest() {
		if r.GetResourceName() == yarn.Any {
			in.AMLabel = storedLabel(r.NodeLabelExpression)
		}
	}
	if in.AM, err = amSize(sub, kinds); err != nil {
		return nil, err
	}
	in.AMPlaces, in.AMStrict, err = amPlaces(sub)
	return in, err
}

// storedLabel converts a node label expression to the form in an input.
func storedLabel(expression *string) string {
	if expression != nil && *expression == "" {
		return yarn.NoLabel
	}
	return valueOr(expression, "")
}
