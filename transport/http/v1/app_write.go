package v1

import (
	"net/http"
	"strings"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/http/auth"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/yarn"
)

func (s *apps) submitApp(c *route.Call) error {
	var doc api.Submit
	if err := c.Read(&doc); err != nil {
		return err
	}
	v := s.cfg.Views.Now()
	in := &input.SubmitApplication{
		Name: doc.Name, User: doc.User, Groups: doc.Groups, Queue: doc.Queue, Type: doc.Type, Tags: doc.Tags,
		TagGroups: doc.TagGroups,
		Unmanaged: doc.Unmanaged, KeepContainers: doc.KeepContainers, MaxAttempts: doc.MaxAttempts,
		LifetimeMillis: doc.LifetimeMillis, Label: doc.Label, AMLabel: doc.AMLabel, Context: doc.Context,
		DryRun: doc.DryRun || c.Flag("dry_run"),
	}
	var err error
	if doc.ID != "" {
		if in.ID, err = yarn.ParseApplicationID(doc.ID); err != nil {
			return problem.Invalid("id: "+err.Error(), giveNoID, "id")
		}
		if err := handedOut(c, in.ID); err != nil {
			return err
		}
	}
	if in.AM, err = v.Amount("am", doc.AM); err != nil {
		return err
	}
	if in.User == "" {
		in.User = c.User()
	}
	if in.User == "" {
		return problem.Invalid("an application needs a user",
			"give user in the document, or the header "+api.HeaderUser, "user")
	}
	if err := auth.MayActAs(c.R, in.User); err != nil {
		return err
	}
	if err := s.ownGroups(c, in); err != nil {
		return err
	}
	if in.Type == "" {
		in.Type = "YARN"
	}
	if doc.Priority != nil {
		in.Priority, in.PrioritySet = *doc.Priority, true
	}
	reply, at, err := route.Do[*input.SubmitApplicationReply](c, in)
	if err != nil {
		return err
	}
	out := api.Submitted{Queue: reply.Queue, Index: at, DryRun: in.DryRun}
	if reply.ID.Seq != 0 {
		out.ID = reply.ID.String()
	}
	if in.DryRun {
		out.Explain = s.explainSubmission(in)
		return c.JSON(http.StatusOK, out)
	}
	if c.Flag("explain") {
		out.Explain = s.whyWaiting(reply.ID)
	}
	c.W.Header().Set("Location", "/v1/apps/"+out.ID)
	return c.JSON(http.StatusCreated, out)
}

const giveNoID = "leave it out and the cluster gives the next one"

// handedOut refuses an application id that rmd has not handed out. A submission with a large id
// would use up all ids below it.
func handedOut(c *route.Call, id yarn.ApplicationID) error {
	st, err := c.AtLeast(func(st *state.State) bool { return id.Seq < st.Meta.NextApp })
	if err == nil && id.Seq >= st.Meta.NextApp {
		err = problem.Invalid("id: "+id.String()+" was given to nobody", giveNoID, "id")
	}
	return err
}

// ownGroups looks up the groups of a caller with the role submit, who must not name its own. It
// leaves the groups of other callers alone.
func (s *apps) ownGroups(c *route.Call, in *input.SubmitApplication) error {
	user, groups := s.asUser(c)
	if user == "" {
		return nil
	}
	if len(in.Groups) > 0 || len(in.TagGroups) > 0 {
		return problem.New(api.CodeNotAllowed, auth.Of(c.R).String()+" may not name groups",
			"leave out groups and tag_groups: the replica looks them up", "groups", "tag_groups")
	}
	in.Groups = groups
	if other := input.TagUser(in.Tags); other != "" && s.cfg.Groups != nil {
		in.TagGroups = s.cfg.Groups(other)
	}
	return nil
}

// whyWaiting returns the explanation that a submission asks for, or nil. An error here does not
// fail the submission.
func (s *apps) whyWaiting(id yarn.ApplicationID) *api.Explanation {
	v := s.cfg.Views.Now()
	if s.cfg.Planner.Explain == nil || v.State.Apps.ByID(id) == 0 {
		return nil
	}
	doc, err := s.Explain(v, id)
	if err != nil {
		s.log.Debug("submission not explained", "application", id, "error", err)
		return nil
	}
	return doc
}

// explainSubmission returns the explanation for a dry run of a submission, or nil. An error here
// does not fail the dry run.
func (s *apps) explainSubmission(in *input.SubmitApplication) *api.Explanation {
	if s.cfg.Planner.ExplainSubmission == nil {
		return nil
	}
	s.explain.Lock()
	defer s.explain.Unlock()
	st, _ := s.cfg.Reader.Fork()
	doc, err := s.cfg.Planner.ExplainSubmission(s.privateFork(st), in)
	if err != nil {
		s.log.Debug("submission not explained", "queue", in.Queue, "error", err)
		return nil
	}
	return doc
}

// appID parses the application id in the path. Only the planner decides whether the application
// exists, because its state is newer than this replica's.
func (s *apps) appID(c *route.Call) (yarn.ApplicationID, error) {
	return s.cfg.Views.Now().ParseApp(c.Args["id"])
}

func (s *apps) killApp(c *route.Call) error {
	var doc api.Kill
	if err := c.Read(&doc); err != nil {
		return err
	}
	id, err := s.appID(c)
	if err != nil {
		return err
	}
	user := c.User()
	return c.Done(&input.KillApplication{ID: id, User: user,
		Diagnostics: killText(id, user, auth.HostOf(c.R.RemoteAddr), doc.Diagnostics)})
}

// killText returns the text that YARN writes into the diagnostics of a killed application.
func killText(id yarn.ApplicationID, user, from, why string) string {
	if user == "" {
		user = "dr.who" // YARN's name for a caller that gives none
	}
	text := "Application " + id.String() + " was killed by user " + user + " at " + from
	if why = strings.TrimSpace(why); why != "" {
		text += " with diagnostic message: " + why
	}
	return text
}

func (s *apps) moveApp(c *route.Call) error {
	var doc api.Move
	if err := c.Read(&doc); err != nil {
		return err
	}
	id, err := s.appID(c)
	if err != nil {
		return err
	}
	if doc.Queue == "" {
		return problem.Invalid("move needs a queue", `send {"queue":"root.batch"}`, "queue")
	}
	return c.Done(&input.MoveApplication{ID: id, Queue: doc.Queue})
}

func (s *apps) gangApp(c *route.Call) error {
	var doc api.Gang
	if err := c.Read(&doc); err != nil {
		return err
	}
	id, err := s.appID(c)
	if err != nil {
		return err
	}
	if doc.Gang == nil {
		return problem.Invalid("gang is missing", `send {"gang":"priority=1,count=4"}, or "" to withdraw it`, "gang")
	}
	return c.Done(&input.SetGang{ID: id, Gang: *doc.Gang})
}

func (s *apps) prioritizeApp(c *route.Call) error {
	doc := struct {
		Priority *int32 `json:"priority"`
	}{}
	if err := c.Read(&doc); err != nil {
		return err
	}
	id, err := s.appID(c)
	if err != nil {
		return err
	}
	if doc.Priority == nil {
		return problem.Invalid("priority is missing", `send {"priority":3}`, "priority")
	}
	in := &input.SetPriority{ID: id, Priority: *doc.Priority}
	in.User, in.Groups = s.asUser(c)
	reply, index, err := route.Do[*input.SetPriorityReply](c, in)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, api.Priority{Priority: reply.Priority, Index: index})
}
