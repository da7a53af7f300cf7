package client

import (
	"slices"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// Bounds of tags that a ResourceManager has taken; they are YARN's defaults.
const (
	storedTags      = 100
	storedTagLength = 256
)

// StoredSubmission reads the context of an application that another ResourceManager has taken. Its
// lifetime is not in the context: it may have been changed since.
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
	if in.Unmanaged {
		return in, nil
	}
	if usesLabels(sub) {
		return nil, exception(classInvalidLabel, "applications that use node labels are not taken over")
	}
	if in.AM, err = amSize(sub, kinds); err != nil {
		return nil, err
	}
	in.AMPlaces, in.AMStrict, err = amPlaces(sub)
	return in, err
}

func usesLabels(sub *proto.ApplicationSubmissionContextProto) bool {
	return sub.GetNodeLabelExpression() != "" || slices.ContainsFunc(sub.GetAmContainerResourceRequest(), func(r *proto.ResourceRequestProto) bool {
		return r.GetNodeLabelExpression() != ""
	})
}
