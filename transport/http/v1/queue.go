package v1

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"rmd/api"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/scheduler/placement"
	"rmd/transport/http/auth"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// queues serves queues. The dynamic ones of them, and the rules that lead to them, are checked and
// compared as configurations are.
type queues struct{ confs }

func (s *queues) routes() []route.Route {
	return []route.Route{
		route.Get("/v1/queues", "dynamic", listQueues).Doc("Show the queue tree", nil, api.Queues{}),
		route.Get("/v1/queues/{path}", "dynamic", showQueue).Doc("Show a queue with its subtree", nil, api.Queue{}),
		route.Route{Method: http.MethodPost, Pattern: "/v1/queues:place", Class: auth.ClassRead, Query: route.ReadParams,
			Handle: s.place}.Doc("Say where the placement rules send a submission", api.PlaceInQueue{}, api.QueuePlacement{}),
		route.Post("/v1/queues/{path}:stop", "",
			func(c *route.Call) error {
				return s.setQueueState(c, yarn.QueueStopped)
			}).Makes(&input.SetQueueState{State: yarn.QueueStopped}).Doc(
			"Stop a queue: it takes no new applications", nil, api.Done{}),
		route.Post("/v1/queues/{path}:start", "",
			func(c *route.Call) error {
				return s.setQueueState(c, yarn.QueueRunning)
			}).Makes(&input.SetQueueState{State: yarn.QueueRunning}).Doc("Start a stopped queue", nil, api.Done{}),
		route.Post("/v1/queues/{path}:adopt", "dry_run comment",
			s.adoptQueue).Makes(&input.AdoptQueue{}).Doc(
			"Make a dynamic queue, and those above it, queues of the configuration; If-Match makes it conditional", nil,
			api.ConfApplied{}),
	}
}

func listQueues(c *route.Call) error {
	v, err := c.View()
	if err != nil {
		return err
	}
	most, err := mostDynamic(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, v.Queues(most))
}

func showQueue(c *route.Call) error {
	v, err := c.View()
	if err != nil {
		return err
	}
	slot, err := v.FindQueue(c.Args["path"])
	if err != nil {
		return err
	}
	most, err := mostDynamic(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, v.Queue(slot, most))
}

// mostDynamic returns how many dynamic children of each queue the caller wants.
func mostDynamic(c *route.Call) (int, error) {
	if !c.Query.Has("dynamic") {
		return view.AllQueues, nil
	}
	n, err := c.Number("dynamic", 0)
	return int(min(n, capacity.MaxDynamicQueues)), err
}

func (s *queues) setQueueState(c *route.Call, to yarn.QueueState) error {
	return c.Done(&input.SetQueueState{Queue: s.pathOf(c.Args["path"]), State: to})
}

func (s *queues) adoptQueue(c *route.Call) error {
	in := &input.AdoptQueue{Queue: s.pathOf(c.Args["path"]), Author: c.Who(), Comment: c.Query.Get("comment"),
		DryRun: c.Flag("dry_run")}
	var err error
	if in.IfVersion, err = ifMatch(c); err != nil {
		return err
	}
	reply, index, err := route.Do[*input.SetQueuesReply](c, in)
	if err != nil {
		return err
	}
	d := api.ConfApplied{Version: reply.Version, Index: index, Warnings: reply.Warnings, DryRun: in.DryRun}
	if in.DryRun {
		s.compareAdopted(c, in.Queue, &d)
	}
	return c.JSON(http.StatusOK, d)
}

// compareAdopted fills in what would change if the configuration in force adopted a dynamic queue.
func (s *queues) compareAdopted(c *route.Call, path string, d *api.ConfApplied) {
	v := s.cfg.Views.Now()
	if i := v.Configured(path); i >= 0 {
		if props, err := v.Conf.Adopt(i); err == nil {
			s.compareWithNow(c, props, d)
		}
	}
}

// pathOf returns the path of a queue that may be given by a short name.
func (s *queues) pathOf(name string) string {
	st, index := s.cfg.Reader.Fork()
	if slot, err := s.cfg.Views.At(st, index).FindQueue(name); err == nil {
		return st.Queues.Get(slot).Path
	}
	return name
}

// place says where a submission would go. It considers only the placement rules and the queues,
// neither limits nor ACLs.
func (s *queues) place(c *route.Call) error {
	var doc api.PlaceInQueue
	if err := c.Read(&doc); err != nil {
		return err
	}
	if doc.User == "" {
		return problem.Invalid("user is missing", `send {"user":"NAME"}`, "user")
	}
	like := &input.SubmitApplication{User: doc.User, Groups: doc.Groups, Name: doc.Name, Queue: doc.Queue, Tags: doc.Tags,
		TagGroups: doc.TagGroups}
	if fault := input.Check(input.Request{Input: like}); fault != nil {
		return fault
	}
	doc.Name = like.Name // Check may have truncated it
	v, err := c.View()
	if err != nil {
		return err
	}
	var d *api.QueuePlacement
	place := func() (err error) {
		d, err = placed(v, &doc)
		return err
	}
	if len(doc.Properties) > 0 {
		err = s.checked(c, place)
	} else {
		err = place()
	}
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, d)
}

// placed returns where a submission goes under the configuration in the document, or without one
// under the configuration in force.
func placed(v *view.View, doc *api.PlaceInQueue) (d *api.QueuePlacement, err error) {
	conf := v.Conf
	if len(doc.Properties) > 0 {
		if conf, err = capacity.Parse(propertiesOf(doc.Properties)); err != nil {
			return nil, invalidConf(err)
		}
	}
	if conf == nil {
		return nil, problem.NoQueues()
	}
	got := conf.Place(placement.Submission{User: doc.User, Groups: doc.Groups, Application: doc.Name, Queue: doc.Queue,
		Tags: doc.Tags, TagGroups: doc.TagGroups})
	d = &api.QueuePlacement{Rule: got.Rule, Text: got.Text, TagUser: got.TagUser, NotAsked: got.PassedOver,
		Rules: len(conf.Placement.List), Steps: []api.QueuePlacementStep{}}
	for _, step := range got.Steps {
		d.Steps = append(d.Steps, api.QueuePlacementStep(step))
	}
	switch {
	case got.Rejected:
		d.Refused = "a placement rule rejects the application"
	case got.Create:
		d.Queue, d.Create = got.Queue, true
	default:
		d.Queue, d.Refused = leafNamed(conf, cmp.Or(got.Queue, doc.Queue, "default"))
	}
	return d, nil
}

func leafNamed(conf *capacity.Config, name string) (path, why string) {
	i, err := conf.Lookup(name)
	switch {
	case err != nil:
		return "", err.Error()
	case !conf.Queues[i].Leaf:
		return "", conf.Queues[i].Path + " is a parent queue"
	}
	return conf.Queues[i].Path, ""
}

func propertiesOf(values map[string]string) []capacity.Property {
	out := make([]capacity.Property, 0, len(values))
	for name, value := range values { // sorted below
		out = append(out, capacity.Property{Name: name, Value: value})
	}
	slices.SortFunc(out, func(a, b capacity.Property) int { return strings.Compare(a.Name, b.Name) })
	return out
}
