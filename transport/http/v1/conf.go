package v1

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/internal/hadoopconf"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/diff"
	"rmd/scheduler/input"
	"rmd/transport/http/auth"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// confs serves the queue configuration and its versions.
type confs struct {
	*shared
	checking *callSlot // for calls that bring a configuration to check
}

func (s *confs) routes() []route.Route {
	return []route.Route{
		route.Get("/v1/conf", "", currentConf).Doc("Show the queue configuration in force; the ETag is its version",
			nil, api.Conf{}),
		route.Put("/v1/conf", "dry_run comment allow_unknown",
			s.putConf).Makes(&input.SetQueues{}).Doc("Replace the queue configuration; If-Match makes it conditional",
			route.Takes{api.PutConf{}, route.Media("application/xml")}, api.ConfApplied{}),
		route.Get("/v1/conf/versions", "limit", confVersions).Doc(
			"List the versions of the queue configuration, newest first", nil, api.ConfVersions{}),
		route.Get("/v1/conf/versions/{v}", "", confVersion).Doc("Show one version of the queue configuration",
			nil, api.Conf{}),
		route.Get("/v1/conf/versions/{v}/diff/{w}", "", confDiff).Doc("Compare two versions of the queue configuration", nil,
			api.ConfDiff{}),
		route.Route{Method: http.MethodPost, Pattern: "/v1/conf:validate", Class: auth.ClassRead, Query: route.ReadParams,
			Handle: s.validateConf}.Doc("Check a queue configuration and change nothing",
			route.Takes{api.PutConf{}, route.Media("application/xml")}, api.Validation{}),
		route.Route{Method: http.MethodPost, Pattern: "/v1/whatif", Class: auth.ClassRead, Query: route.ReadParams,
			Handle: s.whatIf}.Doc("Predict what another queue configuration would change",
			route.Takes{api.PutConf{}, route.Media("application/xml")}, api.WhatIf{}),
		route.Route{Method: http.MethodPost, Pattern: "/v1/replay:rerun", Class: auth.ClassRead, Query: route.ReadParams,
			Handle: s.rerun}.As("replay rerun").Doc(
			"Schedule the recorded span of the log again, with reservations and without", nil, api.Rerun{}),
		route.Post("/v1/conf:rollback", "", rollbackConf).Makes(&input.RollbackQueues{}).Doc(
			"Make an earlier version of the queue configuration the newest",
			api.Rollback{}, api.ConfApplied{}),
	}
}

func currentConf(c *route.Call) error {
	v, err := c.View()
	if err != nil {
		return err
	}
	ver := v.State.Versions.Current()
	if ver == nil {
		return problem.NoQueues()
	}
	return showVersion(c, ver)
}

func showVersion(c *route.Call, ver *state.QueueVersion) error {
	c.W.Header().Set("ETag", `"`+strconv.FormatUint(ver.Version, 10)+`"`)
	return c.JSON(http.StatusOK, view.ConfDoc(ver))
}

func confVersions(c *route.Call) error {
	limit, err := c.Limit()
	if err != nil {
		return err
	}
	v, err := c.View()
	if err != nil {
		return err
	}
	list, err := v.ConfVersions(limit)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, api.ConfVersions{Versions: list})
}

func confVersion(c *route.Call) error {
	v, err := c.View()
	if err != nil {
		return err
	}
	ver, err := v.FindVersion(c.Args["v"])
	if err != nil {
		return err
	}
	return showVersion(c, ver)
}

func confDiff(c *route.Call) error {
	v, err := c.View()
	if err != nil {
		return err
	}
	d, err := v.ConfDiff(c.Args["v"], c.Args["w"])
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, d)
}

// properties reads a queue configuration and its comment from the body. The body is our JSON
// document or a Hadoop configuration file.
func (s *confs) properties(c *route.Call) ([]capacity.Property, string, error) {
	b, err := c.Raw()
	if err != nil {
		return nil, "", err
	}
	switch c.Media() {
	case "application/xml", "text/xml":
		props, err := xmlProperties(b)
		return props, c.Query.Get("comment"), err
	}
	var doc api.PutConf
	if err := c.Read(&doc); err != nil {
		return nil, "", err
	}
	if doc.Comment == "" {
		doc.Comment = c.Query.Get("comment")
	}
	out, err := s.unmasked(c, doc.Properties)
	return out, doc.Comment, err
}

// unmasked returns the properties of a document, sorted by name. It replaces masked values by the
// hidden ones in force.
func (s *shared) unmasked(c *route.Call, properties map[string]string) ([]capacity.Property, error) {
	if len(properties) == 0 {
		return nil, problem.Invalid("there are no properties",
			`send {"properties":{…}}, or a Hadoop file as application/xml`, "properties")
	}
	out := make([]capacity.Property, 0, len(properties))
	for name, value := range properties { // sorted below
		if value == view.Masked && view.MaskProperty(name, value) == view.Masked {
			var ok bool
			if value, ok = s.hidden(c, name); !ok {
				return nil, problem.Invalid(name+" has the value that stands for a hidden one, and has none now",
					"give its real value, or leave it out", name)
			}
		}
		out = append(out, capacity.Property{Name: name, Value: value})
	}
	slices.SortFunc(out, func(a, b capacity.Property) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// hidden returns the value in force of a property whose value is masked. A client that sends back
// the mask means this value.
func (s *shared) hidden(c *route.Call, name string) (string, bool) {
	st, _ := s.cfg.Reader.Fork()
	if v := st.Versions.Current(); v != nil {
		for _, p := range v.Properties {
			if p.Name == name {
				return p.Value, true
			}
		}
	}
	return "", false
}

// xmlProperties reads a Hadoop configuration file. It allows no includes and hides the environment
// of this process.
func xmlProperties(b []byte) ([]capacity.Property, error) {
	o := hadoopconf.DefaultOptions()
	o.Env = func(string) (string, bool) { return "", false }
	conf, err := o.Parse(bytes.NewReader(b), "body")
	if err != nil {
		var faults *hadoopconf.Error
		var details []string
		if errors.As(err, &faults) {
			for _, f := range faults.Faults {
				details = append(details, f.String())
			}
		}
		return nil, problem.Invalid("the body is not a Hadoop configuration", "send <configuration><property>…", details...)
	}
	var out []capacity.Property
	for _, p := range conf.Properties() {
		if capacity.Relevant(p.Name) {
			out = append(out, capacity.Property{Name: p.Name, Value: p.Value, Origin: p.Origin()})
		}
	}
	if len(out) == 0 {
		return nil, problem.Invalid("the file holds no key of the queue configuration", "send capacity-scheduler.xml")
	}
	return out, nil
}

// ifMatch returns the version in If-Match, which must be in force; 0 for any.
func ifMatch(c *route.Call) (uint64, error) {
	text := strings.Trim(strings.TrimPrefix(c.R.Header.Get("If-Match"), "W/"), `"`)
	if text == "" || text == "*" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || n == 0 {
		return 0, problem.Invalid("If-Match is not a version", "give the version that GET /v1/conf showed, or leave it out")
	}
	return n, nil
}

func (s *confs) putConf(c *route.Call) error {
	props, comment, err := s.properties(c)
	if err != nil {
		return err
	}
	if !c.Flag("allow_unknown") {
		if err := s.checkSpelling(props); err != nil {
			return err
		}
	}
	in := &input.SetQueues{Author: c.Who(), Comment: comment, DryRun: c.Flag("dry_run")}
	in.User, in.Groups = s.asUser(c)
	if in.IfVersion, err = ifMatch(c); err != nil {
		return err
	}
	for _, p := range props {
		in.Properties = append(in.Properties, input.Property{Name: p.Name, Value: p.Value, Origin: p.Origin})
	}
	reply, index, err := route.Do[*input.SetQueuesReply](c, in)
	if err != nil {
		return err
	}
	d := api.ConfApplied{Version: reply.Version, Index: index, Warnings: reply.Warnings, DryRun: in.DryRun}
	if in.DryRun {
		s.compareWithNow(c, props, &d)
	}
	return c.JSON(http.StatusOK, d)
}

// checkSpelling refuses unknown keys that resemble known ones, because a misspelled limit does not
// limit anything. It lets through the keys that are in force already, which YARN's own files may
// have brought. The planner refuses what is invalid.
func (s *confs) checkSpelling(props []capacity.Property) error {
	conf, err := capacity.Parse(props)
	if err != nil {
		return nil
	}
	have := map[string]bool{}
	if now := s.cfg.Views.Now(); now.Conf != nil {
		for _, p := range now.Conf.Properties() {
			have[p.Name] = true
		}
	}
	var wrong []string
	for _, w := range conf.Warnings {
		if w.Meant != "" && !have[w.Name] {
			wrong = append(wrong, w.String())
		}
	}
	if wrong == nil {
		return nil
	}
	return problem.New(string(input.InvalidQueues), "a key is unknown and resembles a known one",
		"correct it, or keep it as YARN does with ?allow_unknown; nothing was changed", wrong...)
}

// asUser returns the name and groups of a caller with the role submit, so that the planner can
// check the user's rights. It returns "" for other roles: the planner does not check them.
func (s *shared) asUser(c *route.Call) (user string, groups []string) {
	p := auth.Of(c.R)
	if p.Role != yarn.RoleSubmit {
		return "", nil
	}
	if s.cfg.Groups != nil {
		groups = s.cfg.Groups(p.Name)
	}
	return p.Name, groups
}

// compareWithNow fills in how properties differ from the configuration in force on this replica.
func (s *confs) compareWithNow(c *route.Call, props []capacity.Property, d *api.ConfApplied) {
	to, err := capacity.Parse(props)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(c.R.Context(), s.cfg.ReadTimeout)
	defer cancel()
	v := s.cfg.Views.Now()
	if to, err = withDynamic(v, to); err != nil {
		return
	}
	d.Changes, d.Landings = view.Changes(diff.Of(v.Conf, to)), s.landings(ctx, v, to)
}

// withDynamic adds the dynamic queues that would remain under another configuration.
func withDynamic(v *view.View, to *capacity.Config) (*capacity.Config, error) {
	keep, _ := to.Remaining(v.State.DynamicQueueList())
	return to.WithDynamic(keep)
}

// validateConf checks a configuration on this replica. Nothing goes to the leader.
func (s *confs) validateConf(c *route.Call) error {
	d := api.Validation{Valid: true}
	err := s.checked(c, func() error {
		props, _, err := s.properties(c)
		if err != nil {
			return err
		}
		v := s.cfg.Views.Now()
		c.ReadHeaders(v.Index)
		return validate(v, props, &d)
	})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, d)
}

// checked calls f, which reads and checks the configuration in the body of a call, for one call at
// a time. A configuration of 4 MB takes more than a second, and callers with the role read may send
// it.
func (s *confs) checked(c *route.Call, f func() error) error {
	if _, err := c.Raw(); err != nil { // read the body first: it may arrive slowly
		return err
	}
	ctx, cancel := context.WithTimeout(c.R.Context(), s.cfg.ReadTimeout)
	defer cancel()
	if err := s.checking.take(ctx, "checking another configuration"); err != nil {
		return err
	}
	defer s.checking.give()
	return f()
}

// validate fills in the changes of a configuration, or its faults.
func validate(v *view.View, props []capacity.Property, d *api.Validation) error {
	conf, err := capacity.Parse(props)
	if err == nil {
		conf, err = withDynamic(v, conf)
	}
	if err == nil {
		old, st := v.Conf, v.State
		d.Warnings, d.Ignored, d.Changes = faultsOf(conf.Warnings), faultsOf(conf.Ignored), view.Changes(diff.Of(old, conf))
		err = conf.Validate(old, func(path string) bool { return view.QueueHasApps(st, path) },
			func(path string) bool { return view.QueueStopped(st, path) })
	}
	var bad *capacity.Invalid
	if errors.As(err, &bad) {
		d.Valid, d.Faults = false, faultsOf(bad.Faults)
		return nil
	}
	return err
}

func faultsOf(in []capacity.Fault) []api.Fault {
	out := make([]api.Fault, 0, len(in))
	for _, f := range in {
		out = append(out, api.Fault{Name: f.Name, Value: view.MaskProperty(f.Name, f.Value), Origin: f.Origin, What: f.What,
			Do: f.Do, Effect: f.Effect})
	}
	return out
}

func rollbackConf(c *route.Call) error {
	var doc api.Rollback
	if err := c.Read(&doc); err != nil {
		return err
	}
	if doc.To == 0 {
		return problem.Invalid("to is missing", `send {"to":VERSION}; GET /v1/conf/versions lists them`, "to")
	}
	reply, index, err := route.Do[*input.SetQueuesReply](c,
		&input.RollbackQueues{To: doc.To, Author: c.Who(), Comment: doc.Comment})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, api.ConfApplied{Version: reply.Version, Index: index, Warnings: reply.Warnings})
}
