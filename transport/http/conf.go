package httpserver

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"rmd/fsm/state"
	"rmd/internal/hadoopconf"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/transport/http/v1/api"
	"rmd/yarn"
)

func (s *Server) confRoutes() []route {
	return []route{
		get("/v1/conf", "", currentConf),
		put("/v1/conf", "dry_run comment", putConf),
		get("/v1/conf/versions", "limit", confVersions),
		get("/v1/conf/versions/{v}", "", confVersion),
		get("/v1/conf/versions/{v}/diff/{w}", "", confDiff),
		{method: http.MethodPost, pattern: "/v1/conf:validate", class: ClassRead, query: readParams, handle: validateConf},
		{method: http.MethodPost, pattern: "/v1/whatif", class: ClassRead, query: readParams, handle: whatIf},
		{method: http.MethodPost, pattern: "/v1/replay:rerun", class: ClassRead, query: readParams, handle: rerun},
		post("/v1/conf:rollback", "", rollbackConf),
	}
}

// noQueues answers when the cluster has no configuration yet.
func noQueues() error {
	return problem(codeNotInitialized, "the cluster has no queue configuration yet", "run \"rmd cluster init\" on one replica")
}

func currentConf(c *call) error {
	v, err := c.view()
	if err != nil {
		return err
	}
	ver := v.st.Version()
	if ver == nil {
		return noQueues()
	}
	return c.conf(ver)
}

func (c *call) conf(ver *state.QueueVersion) error {
	d := api.Conf{Version: ver.Version, AtMillis: ver.AtMillis, Author: ver.Author, Comment: ver.Comment, Kinds: ver.Kinds, Properties: map[string]string{}}
	for _, p := range ver.Properties {
		d.Properties[p.Name] = maskProperty(p.Name, p.Value)
	}
	c.w.Header().Set("ETag", `"`+strconv.FormatUint(ver.Version, 10)+`"`)
	return c.json(http.StatusOK, d)
}

func confVersions(c *call) error {
	limit, err := c.limit()
	if err != nil {
		return err
	}
	v, err := c.view()
	if err != nil {
		return err
	}
	d := api.ConfVersions{Versions: []api.ConfVersion{}}
	for i := len(v.st.Versions) - 1; i >= 0 && (limit == 0 || len(d.Versions) < limit); i-- {
		ver := &v.st.Versions[i]
		line := api.ConfVersion{Version: ver.Version, AtMillis: ver.AtMillis, Author: ver.Author, Comment: ver.Comment, Current: i == len(v.st.Versions)-1}
		if i > 0 {
			changes, err := diffVersions(&v.st.Versions[i-1], ver)
			if err != nil {
				return err
			}
			line.Changes = len(changes)
		}
		d.Versions = append(d.Versions, line)
	}
	return c.json(http.StatusOK, d)
}

// version finds the version that a path names: a number, or "current".
func (c *call) version(st *state.State, name string) (*state.QueueVersion, error) {
	if st.Version() == nil {
		return nil, noQueues()
	}
	text := c.args[name]
	if text == "current" {
		return st.Version(), nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return nil, invalid(fmt.Sprintf("%q is not a version", text), "give a number, or current")
	}
	i := slices.IndexFunc(st.Versions, func(v state.QueueVersion) bool { return v.Version == n })
	if i < 0 {
		return nil, problem("NO_SUCH_VERSION", fmt.Sprintf("version %d is not kept", n), fmt.Sprintf("the versions %d to %d are", st.Versions[0].Version, st.Version().Version))
	}
	return &st.Versions[i], nil
}

func confVersion(c *call) error {
	v, err := c.view()
	if err != nil {
		return err
	}
	ver, err := c.version(v.st, "v")
	if err != nil {
		return err
	}
	return c.conf(ver)
}

func confDiff(c *call) error {
	v, err := c.view()
	if err != nil {
		return err
	}
	from, err := c.version(v.st, "v")
	if err != nil {
		return err
	}
	to, err := c.version(v.st, "w")
	if err != nil {
		return err
	}
	changes, err := diffVersions(from, to)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, api.ConfDiff{From: from.Version, To: to.Version, Changes: changes})
}

func diffVersions(from, to *state.QueueVersion) ([]api.Change, error) {
	a, err := capacity.Parse(propertiesOf(from))
	if err != nil {
		return nil, fmt.Errorf("configuration version %d: %w", from.Version, err)
	}
	b, err := capacity.Parse(propertiesOf(to))
	if err != nil {
		return nil, fmt.Errorf("configuration version %d: %w", to.Version, err)
	}
	return changesOf(capacity.Diff(a, b)), nil
}

func changesOf(in []capacity.Change) []api.Change {
	out := make([]api.Change, 0, len(in))
	for _, k := range in {
		out = append(out, api.Change{Kind: k.Kind.String(), Queue: k.Queue, Key: k.Key, Old: maskProperty(k.Key, k.Old), New: maskProperty(k.Key, k.New)})
	}
	return out
}

// properties reads a configuration from the body: our JSON document, or a
// Hadoop configuration file.
func (c *call) properties() ([]capacity.Property, string, error) {
	b, err := c.raw()
	if err != nil {
		return nil, "", err
	}
	switch c.media() {
	case "application/xml", "text/xml":
		props, err := xmlProperties(b)
		return props, c.q.Get("comment"), err
	}
	var doc api.PutConf
	if err := c.read(&doc); err != nil {
		return nil, "", err
	}
	out := make([]capacity.Property, 0, len(doc.Properties))
	for name, value := range doc.Properties { // sorted below
		if value == masked && maskProperty(name, value) == masked {
			var ok bool
			if value, ok = c.hidden(name); !ok {
				return nil, "", invalid(name+" has the value that stands for a hidden one, and has none now", "give its real value, or leave it out", name)
			}
		}
		out = append(out, capacity.Property{Name: name, Value: value})
	}
	slices.SortFunc(out, func(a, b capacity.Property) int { return strings.Compare(a.Name, b.Name) })
	if doc.Comment == "" {
		doc.Comment = c.q.Get("comment")
	}
	if len(out) == 0 {
		err = invalid("there are no properties", `send {"properties":{…}}, or a Hadoop file as application/xml`, "properties")
	}
	return out, doc.Comment, err
}

// hidden is the value in force of a key whose value is not shown: who sends back what it
// was shown means that one.
func (c *call) hidden(name string) (string, bool) {
	st, _ := c.s.cfg.Reader.Fork()
	if v := st.Version(); v != nil {
		for _, p := range v.Properties {
			if p.Name == name {
				return p.Value, true
			}
		}
	}
	return "", false
}

// xmlProperties reads a Hadoop configuration document without includes and
// without the environment of this process.
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
		return nil, invalid("the body is not a Hadoop configuration", "send <configuration><property>…", details...)
	}
	var out []capacity.Property
	for _, p := range conf.Properties() {
		if capacity.Relevant(p.Name) {
			out = append(out, capacity.Property{Name: p.Name, Value: p.Value, Origin: p.Origin()})
		}
	}
	if len(out) == 0 {
		return nil, invalid("the file holds no key of the queue configuration", "send capacity-scheduler.xml")
	}
	return out, nil
}

// ifMatch reads the version that must be in force; 0 is any.
func (c *call) ifMatch() (uint64, error) {
	text := strings.Trim(strings.TrimPrefix(c.r.Header.Get("If-Match"), "W/"), `"`)
	if text == "" || text == "*" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || n == 0 {
		return 0, invalid("If-Match is not a version", "give the version that GET /v1/conf showed, or leave it out")
	}
	return n, nil
}

func putConf(c *call) error {
	props, comment, err := c.properties()
	if err != nil {
		return err
	}
	in := &input.SetQueues{Author: c.who(), Comment: comment, DryRun: c.flag("dry_run")}
	if in.IfVersion, err = c.ifMatch(); err != nil {
		return err
	}
	for _, p := range props {
		in.Properties = append(in.Properties, input.Property{Name: p.Name, Value: p.Value, Origin: p.Origin})
	}
	reply, index, err := do[*input.SetQueuesReply](c, in)
	if err != nil {
		return err
	}
	d := api.ConfApplied{Version: reply.Version, Index: index, Warnings: reply.Warnings, DryRun: in.DryRun}
	if in.DryRun {
		d.Changes = c.changesAgainst(props)
	}
	return c.json(http.StatusOK, d)
}

// changesAgainst compares properties with those in force here.
func (c *call) changesAgainst(props []capacity.Property) []api.Change {
	st, _ := c.s.cfg.Reader.Fork()
	to, err := capacity.Parse(props)
	if err != nil {
		return nil
	}
	from, _ := c.s.confs.of(st)
	return changesOf(capacity.Diff(from, to))
}

// validateConf judges a configuration on this replica; nothing goes to the leader.
func validateConf(c *call) error {
	props, _, err := c.properties()
	if err != nil {
		return err
	}
	st, index := c.s.cfg.Reader.Fork()
	c.readHeaders(index)
	d := api.Validation{Valid: true}
	conf, err := capacity.Parse(props)
	if err == nil {
		old, _ := c.s.confs.of(st)
		d.Warnings, d.Ignored, d.Changes = faultsOf(conf.Warnings), faultsOf(conf.Ignored), changesOf(capacity.Diff(old, conf))
		err = conf.Validate(old, func(path string) bool { return queueHasApps(st, path) }, func(path string) bool { return queueStopped(st, path) })
	}
	var bad *capacity.Invalid
	switch {
	case errors.As(err, &bad):
		d.Valid, d.Faults = false, faultsOf(bad.Faults)
	case err != nil:
		return err
	}
	return c.json(http.StatusOK, d)
}

func queueHasApps(st *state.State, path string) bool {
	slot := st.Queue(path)
	return slot != 0 && st.Queues.Get(slot).Apps() > 0
}

func queueStopped(st *state.State, path string) bool {
	slot := st.Queue(path)
	return slot != 0 && st.Queues.Get(slot).State == yarn.QueueStopped
}

func faultsOf(in []capacity.Fault) []api.Fault {
	out := make([]api.Fault, 0, len(in))
	for _, f := range in {
		out = append(out, api.Fault{Name: f.Name, Value: maskProperty(f.Name, f.Value), Origin: f.Origin, What: f.What, Do: f.Do})
	}
	return out
}

func rollbackConf(c *call) error {
	var doc api.Rollback
	if err := c.read(&doc); err != nil {
		return err
	}
	if doc.To == 0 {
		return invalid("to is missing", `send {"to":VERSION}; GET /v1/conf/versions lists them`, "to")
	}
	reply, index, err := do[*input.SetQueuesReply](c, &input.RollbackQueues{To: doc.To, Author: c.who(), Comment: doc.Comment})
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, api.ConfApplied{Version: reply.Version, Index: index, Warnings: reply.Warnings})
}
