package httpserver

import (
	"encoding/json"
	"net/http"
	"strings"

	"rmd/scheduler/input"
	"rmd/transport/http/v1/api"
	"rmd/yarn"
)

func submitApp(c *call) error {
	var doc api.Submit
	if err := c.read(&doc); err != nil {
		return err
	}
	st, index := c.s.cfg.Reader.Fork()
	v := c.s.viewOf(st, index)
	in := &input.SubmitApplication{
		Name: doc.Name, User: doc.User, Groups: doc.Groups, Queue: doc.Queue, Type: doc.Type, Tags: doc.Tags,
		Unmanaged: doc.Unmanaged, KeepContainers: doc.KeepContainers, MaxAttempts: doc.MaxAttempts,
		LifetimeMillis: doc.LifetimeMillis, Context: doc.Context, DryRun: doc.DryRun || c.flag("dry_run"),
	}
	var err error
	if doc.ID != "" {
		if in.ID, err = yarn.ParseApplicationID(doc.ID); err != nil {
			return invalid("id: "+err.Error(), "leave it out and the cluster gives the next one", "id")
		}
	}
	if in.AM, err = v.resource("am", doc.AM); err != nil {
		return err
	}
	if in.User == "" {
		in.User = c.user()
	}
	if in.User == "" {
		return invalid("an application needs a user", "give user in the document, or the header "+api.HeaderUser, "user")
	}
	if err := c.mayActAs(in.User); err != nil {
		return err
	}
	if in.Type == "" {
		in.Type = "YARN"
	}
	if doc.Priority != nil {
		in.Priority, in.PrioritySet = *doc.Priority, true
	}
	reply, at, err := do[*input.SubmitApplicationReply](c, in)
	if err != nil {
		return err
	}
	out := api.Submitted{Queue: reply.Queue, Index: at, DryRun: in.DryRun}
	if reply.ID.Seq != 0 {
		out.ID = reply.ID.String()
	}
	if in.DryRun {
		out.Explain = c.s.foreseen(in)
		return c.json(http.StatusOK, out)
	}
	if c.flag("explain") {
		out.Explain = c.s.whyWaiting(reply.ID)
	}
	c.w.Header().Set("Location", "/v1/apps/"+out.ID)
	return c.json(http.StatusCreated, out)
}

// whyWaiting is the explanation that goes with a submission when it is asked
// for: help, never a reason to fail it.
func (s *Server) whyWaiting(id yarn.ApplicationID) json.RawMessage {
	if s.cfg.Explain == nil {
		return nil
	}
	st, index := s.cfg.Reader.Fork()
	if st.AppByID(id) == 0 {
		return nil
	}
	doc, err := s.explainOf(s.viewOf(st, index), id)
	if err != nil {
		s.log.Debug("submission not explained", "application", id, "error", err)
		return nil
	}
	b, err := json.Marshal(doc)
	if err != nil {
		s.log.Debug("explanation not encoded", "application", id, "error", err)
		return nil
	}
	return b
}

// foreseen is the explanation that goes with a submission that is only tried:
// help, as whyWaiting is.
func (s *Server) foreseen(in *input.SubmitApplication) json.RawMessage {
	if s.cfg.Foresee == nil {
		return nil
	}
	s.explain.Lock()
	defer s.explain.Unlock()
	st, _ := s.cfg.Reader.Fork()
	doc, err := s.cfg.Foresee(s.privateFork(st), in)
	if err != nil {
		s.log.Debug("submission not foreseen", "queue", in.Queue, "error", err)
		return nil
	}
	b, err := json.Marshal(doc)
	if err != nil {
		s.log.Debug("explanation not encoded", "error", err)
		return nil
	}
	return b
}

// appID reads the id of the path; whether there is such an application is the
// planner's to say, whose state is newer than this replica's.
func (c *call) appID() (yarn.ApplicationID, error) {
	id, err := yarn.ParseApplicationID(c.args["id"])
	if err != nil {
		return id, invalid(err.Error(), "copy an id from \"rmd app list\"")
	}
	return id, nil
}

func killApp(c *call) error {
	var doc api.Kill
	if err := c.read(&doc); err != nil {
		return err
	}
	id, err := c.appID()
	if err != nil {
		return err
	}
	user := c.user()
	return c.done(&input.KillApplication{ID: id, User: user, Diagnostics: killText(id, user, hostOf(c.r.RemoteAddr), doc.Diagnostics)})
}

// killText is what YARN writes into the diagnostics of a killed application.
func killText(id yarn.ApplicationID, user, from, why string) string {
	if user == "" {
		user = "dr.who" // whom YARN takes a caller for that says nothing
	}
	text := "Application " + id.String() + " was killed by user " + user + " at " + from
	if why = strings.TrimSpace(why); why != "" {
		text += " with diagnostic message: " + why
	}
	return text
}

func moveApp(c *call) error {
	var doc api.Move
	if err := c.read(&doc); err != nil {
		return err
	}
	id, err := c.appID()
	if err != nil {
		return err
	}
	if doc.Queue == "" {
		return invalid("move needs a queue", `send {"queue":"root.batch"}`, "queue")
	}
	return c.done(&input.MoveApplication{ID: id, Queue: doc.Queue})
}

func prioritizeApp(c *call) error {
	doc := struct {
		Priority *int32 `json:"priority"`
	}{}
	if err := c.read(&doc); err != nil {
		return err
	}
	id, err := c.appID()
	if err != nil {
		return err
	}
	if doc.Priority == nil {
		return invalid("priority is missing", `send {"priority":3}`, "priority")
	}
	reply, index, err := do[*input.SetPriorityReply](c, &input.SetPriority{ID: id, Priority: *doc.Priority})
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, api.Priority{Priority: reply.Priority, Index: index})
}
