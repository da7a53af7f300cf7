package client

import (
	"context"
	"slices"
	"strings"
	"sync"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/bounded"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// YARN's values for fields that a submission leaves out.
const (
	defaultQueue = "default"
	defaultName  = "N/A"
	defaultType  = "YARN"
	typeLength   = 20 // maximum length of a type, in characters

	tokenConfKey = "yarn.resourcemanager.delegation-token.max-conf-size-bytes"
)

func (s *Service) newApplication(ctx context.Context, c *ipc.Call,
	_ *proto.GetNewApplicationRequestProto) (*proto.GetNewApplicationResponseProto, error) {
	reply, err := s.do(ctx, c, &input.NewApplication{})
	if err != nil {
		return nil, err
	}
	if f := reply.Refused(); f != nil {
		return nil, refusal(f)
	}
	r, ok := reply.(*input.NewApplicationReply)
	if !ok {
		return nil, yarnException("the leader answered with %T", reply)
	}
	return &proto.GetNewApplicationResponseProto{
		ApplicationId:     wire.ApplicationIDProto(r.ID),
		MaximumCapability: wire.ResourceProto(r.Maximum, s.cfg.Reader.Fork().Versions.Kinds()),
	}, nil
}

// submitApplication extracts the context from the request itself, so that the context is stored
// byte for byte. Nodes and AMs may know fields that this build does not.
func (s *Service) submitApplication(ctx context.Context, c *ipc.Call, body []byte) ([]byte, error) {
	raw := contextBytes(body)
	sub := new(proto.ApplicationSubmissionContextProto)
	if err := bounded.Unmarshal(raw, sub); err != nil {
		return nil, &ipc.Error{Class: ipc.ClassServer, Message: "submission context: " + err.Error(),
			Detail: ipc.DetailSerializing}
	}
	if len(raw) > s.cfg.MaxContext {
		return nil,
			yarnException("The submission context has %d bytes; at most %d are kept. Put large values into local resources.",
				len(raw), s.cfg.MaxContext)
	}
	s.preprocess(ctx, c.Caller, sub)
	in, err := s.submission(sub, s.userOf(c.Caller))
	if err != nil {
		return nil, err
	}
	known, err := s.submitted(ctx, in.ID)
	if known || err != nil {
		return nil, err
	}
	if err := s.checkLaunch(sub, in); err != nil {
		return nil, err
	}
	if s.cfg.Tokens != nil {
		if in.Tokens, err = s.cfg.Tokens(sub); err != nil {
			return nil, yarnException("Failed to submit %s to YARN : the tokens of its launch context: %v", in.ID, err)
		}
	}
	in.Context = raw
	s.findGroups(in)
	f, err := s.change(ctx, c, in)
	if err != nil {
		return nil, err
	}
	if f != nil {
		return nil, s.notSubmitted(f, in, c.Caller)
	}
	s.cfg.Logger.Info("application submitted", "application", in.ID, "user", in.User, "queue", in.Queue, "type", in.Type)
	return nil, nil // the response has no fields
}

// findGroups finds the groups of the user of a submission and of the user that a tag names. A
// directory that does not answer delays both at the same time.
func (s *Service) findGroups(in *input.SubmitApplication) {
	var tagged sync.WaitGroup
	if user := input.TagUser(in.Tags); user != "" {
		tagged.Go(func() { in.TagGroups = s.cfg.Access.Groups(user) })
	}
	in.Groups = s.cfg.Access.Groups(in.User)
	tagged.Wait()
}

// submitted reports whether an application id was submitted before. A repeated call then gets the
// same answer as the first one, whatever the limits are now. An id that was never handed out is
// refused, because a large one would use up all ids before it.
func (s *Service) submitted(ctx context.Context, id yarn.ApplicationID) (bool, error) {
	st := s.cfg.Reader.Fork()
	if id.Seq >= st.Meta.NextApp {
		if err := s.cfg.Reader.Current(ctx); err != nil {
			return false, elsewhere(err)
		}
		st = s.cfg.Reader.Fork()
	}
	if id.Seq >= st.Meta.NextApp || id.ClusterTimestamp != st.Meta.ClusterTimestamp {
		return false, yarnException("%s is no id of this cluster; get one with getNewApplication", id)
	}
	return st.Apps.ByID(id) != 0, nil
}

// contextBytes returns the bytes of field 1 of the request. If the field occurs several times,
// protobuf merges the messages, which is the same as joining their bytes.
func contextBytes(body []byte) []byte {
	size := 0
	fields(body, 1, func(v []byte) { size += len(v) })
	out := make([]byte, 0, size)
	fields(body, 1, func(v []byte) { out = append(out, v...) })
	return out
}

// submission converts a context to an input. It sets YARN's defaults and makes the checks that do
// not depend on the cluster.
func (s *Service) submission(sub *proto.ApplicationSubmissionContextProto,
	user string) (*input.SubmitApplication, error) {
	id, err := wire.ApplicationID(sub.GetApplicationId())
	if err != nil {
		return nil, yarnException("Invalid application id: %v", err)
	}
	if user == "" {
		return nil, denied("the submission of %s has no user", id)
	}
	tags, err := s.tags(sub.GetApplicationTags())
	if err != nil {
		return nil, err
	}
	in := &input.SubmitApplication{ID: id, User: user, Tags: tags,
		Name: valueOr(sub.ApplicationName, defaultName), Queue: valueOr(sub.Queue, defaultQueue),
		Type:      cut(valueOr(sub.ApplicationType, defaultType), typeLength),
		Unmanaged: sub.GetUnmanagedAm(), KeepContainers: sub.GetKeepContainersAcrossApplicationAttempts(),
		MaxAttempts:    uint32(max(sub.GetMaxAppAttempts(), 0)),
		ValidityMillis: max(sub.GetAttemptFailuresValidityInterval(), 0),
	}
	if sub.Priority != nil {
		in.Priority, in.PrioritySet = wire.Priority(sub.Priority), true
	}
	return in, nil
}

// checkLaunch checks the AM's launch context, and sets the AM's request and the application's
// lifetime in the input.
func (s *Service) checkLaunch(sub *proto.ApplicationSubmissionContextProto, in *input.SubmitApplication) error {
	if n := len(sub.GetAmContainerSpec().GetTokensConf()); n > s.cfg.MaxTokenConf {
		return yarnException("Exceed %s = %d bytes, current conf size = %d bytes.", tokenConfKey, s.cfg.MaxTokenConf, n)
	}
	if sub.ReservationId != nil {
		return yarnException(reservationsOff)
	}
	if in.Queue == "" {
		return yarnException("Failed to place application %s in a queue and submit context queue is null or empty", in.ID)
	}
	for _, t := range sub.GetApplicationTimeouts() {
		v := t.GetTimeout()
		if v <= 0 {
			return yarnException("Invalid application timeout, value=%d for type=LIFETIME", v)
		}
		in.LifetimeMillis = min(v, input.MaxMillis/1000) * 1000
	}
	st := s.cfg.Reader.Fork()
	in.Label = wire.Label(sub.NodeLabelExpression, st)
	if in.Unmanaged {
		return nil
	}
	return readAM(sub, in, st)
}

// tags returns the tags of a submission without duplicates. It checks their number, length and
// characters.
func (s *Service) tags(list []string) ([]string, error) {
	var out []string
	for _, t := range list {
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
		if len(out) > s.cfg.MaxTags {
			return nil, wrapException(javaIllegalArgument, "Too many applicationTags, a maximum of only %d are allowed!",
				s.cfg.MaxTags)
		}
	}
	for _, t := range out {
		if len(t) > s.cfg.MaxTagLength {
			return nil, wrapException(javaIllegalArgument, "Tag %s is too long, maximum allowed length of a tag is %d", t,
				s.cfg.MaxTagLength)
		}
		for _, r := range t {
			if r < ' ' || r > '~' {
				return nil, wrapException(javaIllegalArgument, "A tag can only have ASCII characters! Invalid tag - %s", t)
			}
		}
	}
	return out, nil
}

// notSubmitted converts the refusal of a submission. YARN accepts some of these applications and
// fails them at once. The text is the one with which YARN's client then ends.
func (s *Service) notSubmitted(f *input.Refusal, in *input.SubmitApplication, c *ipc.Caller) error {
	failed := func(format string, args ...any) error {
		return yarnException("Failed to submit %s to YARN : "+format, append([]any{in.ID}, args...)...)
	}
	switch f.Reason {
	case input.NoSuchQueue:
		return failed("Application %s submitted by user %s to unknown queue: %s", in.ID, in.User, in.Queue)
	case input.QueueNotMapped:
		return failed("Application %s submission by user : %s to specified queue : %s  is prohibited. Verify automatic queue mapping for user exists in yarn.scheduler.capacity.queue-mappings", in.ID, in.User, in.Queue)
	case input.QueueNotCreated:
		if leaf, ok := managedLeaf(f.What); ok {
			return failed("Application %s submission by user : %s to  queue : %s failed : %s", in.ID, in.User, leaf, f.What)
		}
		return failed("Application %s submission by user : %s to  queue : %s failed : %s: %s", in.ID, in.User, in.Queue,
			classDynamicEdit, f.What)
	case input.QueueAmbiguous:
		return failed("Application %s submitted by user %s to ambiguous queue: %s please use full queue path instead.", in.ID,
			in.User, in.Queue)
	case input.QueueNotLeaf:
		return failed("Application %s submitted by user : %s to non-leaf queue : %s", in.ID, in.User, in.Queue)
	case input.QueueStopped:
		return failed("%s: %s. Cannot accept submission of application: %s", ipc.ClassAccessControl, capital(f.What), in.ID)
	case input.QueueFull:
		return failed("%s: %s, cannot accept submission of application: %s", ipc.ClassAccessControl, capital(f.What), in.ID)
	case input.NotAllowed:
		return denied("User %s does not have permission to submit %s to queue %s", in.User, in.ID, in.Queue)
	case input.PriorityTooHigh:
		return priorityDenied(f, in.User, c)
	case input.PlacementRejected:
		return yarnException("Application submission have been rejected by a mapping rule. Please see the logs for details")
	case input.NeverFits:
		return s.tooLarge(f, in)
	case input.NoSuchLabel, input.InvalidLabel, input.LabelsOff:
		return exception(classInvalidLabel, "%s", f.What)
	}
	return refusal(f)
}

// managedLeaf returns the leaf in a text about auto-create-child-queue. For these, YARN leaves out
// the class of the exception.
func managedLeaf(what string) (path string, ok bool) {
	rest, ok := strings.CutPrefix(what, "Cannot auto create leaf queue ")
	for _, end := range []string{".Max ", ". Child ", ". The "} {
		rest, _, _ = strings.Cut(rest, end)
	}
	return rest, ok
}

// capital changes the first letter of a planner's text to upper case, as YARN writes it.
func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// tooLarge returns YARN's refusal of an AM's size. If the configuration has changed since, it
// returns the planner's text.
func (s *Service) tooLarge(f *input.Refusal, in *input.SubmitApplication) error {
	st := s.cfg.Reader.Fork()
	most := s.cfg.Queues.Maximum(st)
	here := most
	if q, ok := s.cfg.Queues.Queue(st, s.cfg.Queues.Find(st, in.Queue)); ok {
		here = q.MaxAllocation
	}
	if text := wire.AboveMaximum(in.AM, st.Nodes.MaximumAllocation(here), most, st.Versions.Kinds()); text != "" {
		return invalidResource("%s", text)
	}
	return refusal(f)
}

// valueOr returns an optional text, or def if it is nil.
func valueOr(p *string, def string) string {
	if p == nil {
		return def
	}
	return *p
}

// cut returns the first n characters.
func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}
