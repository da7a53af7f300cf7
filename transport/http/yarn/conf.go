package yarnweb

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/transport/http/auth"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/transport/http/view"
	"rmd/transport/http/yarn/list"
	"rmd/yarn"
)

// schedConf is the path of YARN's mutable queue configuration below wsRoot.
const schedConf = "/scheduler-conf"

func (s *API) schedConfRoutes() []route.Route {
	return []route.Route{
		{Method: http.MethodGet, Pattern: wsRoot + schedConf, Class: auth.ClassRead, Query: route.AnyQuery,
			Handle: s.wsGetConf},
		route.Route{Method: http.MethodPut, Pattern: wsRoot + schedConf, Class: auth.ClassWrite, Query: route.AnyQuery,
			Handle: s.wsPutConf}.Makes(&input.SetQueues{}),
		{Method: http.MethodGet, Pattern: wsRoot + schedConf + "/version", Class: auth.ClassRead, Query: route.AnyQuery,
			Handle: s.wsConfVersion},
		{Method: http.MethodGet, Pattern: wsRoot + schedConf + "/format", Class: auth.ClassRead, Query: route.AnyQuery,
			Handle: s.wsConfFormat},
		{Method: http.MethodPost, Pattern: wsRoot + schedConf + "/validate", Class: auth.ClassRead, Query: route.AnyQuery,
			Handle: s.wsValidateConf},
	}
}

// schedUpdate is YARN's document with changes of the queue configuration.
type schedUpdate struct {
	XMLName xml.Name          `json:"-" xml:"sched-conf"`
	Remove  list.Of[string]   `json:"remove-queue" xml:"remove-queue"`
	Add     list.Of[queueSet] `json:"add-queue" xml:"add-queue"`
	Update  list.Of[queueSet] `json:"update-queue" xml:"update-queue"`
	Global  list.Of[pairs]    `json:"global-updates" xml:"global-updates"`
}

type queueSet struct {
	Name   string `json:"queue-name" xml:"queue-name"`
	Params pairs  `json:"params" xml:"params"`
}

type pairs struct {
	Entry list.Of[pair] `json:"entry" xml:"entry"`
}

type pair struct {
	Key   string `json:"key" xml:"key"`
	Value string `json:"value" xml:"value"`
}

// schedUpdate reads the body of a call. The body is XML, or JSON with or without the root's name.
func (s *API) schedUpdate(c *route.Call) (*schedUpdate, error) {
	b, err := c.Raw()
	if err != nil {
		return nil, err
	}
	u := new(schedUpdate)
	switch c.Media() {
	case "application/xml", "text/xml":
		if err = route.CheckTags(b); err == nil {
			err = xml.Unmarshal(b, u)
		}
	default:
		if err := route.CheckDepth(b); err != nil {
			return nil, err
		}
		var wrapped struct {
			Doc *schedUpdate `json:"sched-conf"`
		}
		if err = json.Unmarshal(b, &wrapped); err == nil && wrapped.Doc != nil {
			u = wrapped.Doc
		} else if err == nil {
			err = json.Unmarshal(b, u)
		}
	}
	if err != nil {
		return nil, &remoteError{http.StatusBadRequest, webApplication,
			"the body is not a sched-conf document: " + err.Error()}
	}
	return u, nil
}

// refusedConf is a refusal that Hadoop sends as plain text.
type refusedConf string

func (e refusedConf) Error() string { return string(e) }

// apply changes props in YARN's order: it removes queues, adds queues, updates queues, and then
// changes the keys of the whole scheduler.
func (u *schedUpdate) apply(props map[string]string) error {
	for _, path := range u.Remove {
		if err := removeQueue(props, path); err != nil {
			return err
		}
	}
	for _, q := range u.Add {
		if err := addQueue(props, q); err != nil {
			return err
		}
	}
	for _, q := range u.Update {
		setAll(props, capacity.Prefix+q.Name+".", q.Params)
	}
	for _, g := range u.Global {
		setAll(props, "", g)
	}
	return nil
}

func setAll(props map[string]string, prefix string, list pairs) {
	for _, e := range list.Entry {
		if e.Value == "" {
			delete(props, prefix+e.Key)
		} else {
			props[prefix+e.Key] = e.Value
		}
	}
}

// siblings returns the names in a parent's list of queues, and the key of the list.
func siblings(props map[string]string, parent string) (list []string, key string) {
	key = capacity.Prefix + parent + ".queues"
	for _, name := range strings.Split(props[key], ",") {
		if name = strings.TrimSpace(name); name != "" {
			list = append(list, name)
		}
	}
	return list, key
}

func removeQueue(props map[string]string, path string) error {
	if !strings.Contains(path, ".") {
		return refusedConf("Can't remove queue " + path)
	}
	list, key := siblings(props, yarn.ParentQueue(path))
	i := slices.Index(list, yarn.QueueName(path))
	if i < 0 {
		return refusedConf("Queue " + path + " not found")
	}
	if list = slices.Delete(list, i, i+1); len(list) == 0 {
		delete(props, key)
	} else {
		props[key] = strings.Join(list, ",")
	}
	for have := range props { // the order does not matter
		if strings.HasPrefix(have, capacity.Prefix+path+".") {
			delete(props, have)
		}
	}
	return nil
}

func addQueue(props map[string]string, q queueSet) error {
	if !strings.Contains(q.Name, ".") {
		return refusedConf("Can't add invalid queue " + q.Name)
	}
	list, key := siblings(props, yarn.ParentQueue(q.Name))
	name := yarn.QueueName(q.Name)
	if slices.Contains(list, name) {
		return refusedConf("Can't add existing queue " + q.Name)
	}
	props[key] = strings.Join(append(list, name), ",")
	setAll(props, capacity.Prefix+q.Name+".", q.Params)
	return nil
}

// changed reads the body. It returns the whole configuration that results from changing the one in
// force, and the version of the latter.
func (s *API) changed(c *route.Call, st *state.State) ([]input.Property, uint64, error) {
	ver := st.Versions.Current()
	if ver == nil {
		return nil, 0, problem.NoQueues()
	}
	u, err := s.schedUpdate(c)
	if err != nil {
		return nil, 0, err
	}
	props := make(map[string]string, len(ver.Properties))
	for _, p := range ver.Properties {
		props[p.Name] = p.Value
	}
	if err := u.apply(props); err != nil {
		return nil, 0, err
	}
	out := make([]input.Property, 0, len(props))
	for name, value := range props { // sorted below
		out = append(out, input.Property{Name: name, Value: value})
	}
	slices.SortFunc(out, func(a, b input.Property) int { return strings.Compare(a.Name, b.Name) })
	return out, ver.Version, nil
}

// administrator refuses callers that yarn.admin.acl does not contain, as -refreshQueues does. It
// accepts callers with a role of rmd, because the route has checked the role.
func (s *API) administrator(c *route.Call) error {
	if s.cfg.Admin == nil || auth.Of(c.R).Known() || s.cfg.Admin(s.requested(c)) {
		return nil
	}
	return wsForbidden("Only admins can carry out this operation.")
}

// changer returns the user whose rights the planner must check for a change, or "" for
// administrators of the cluster. As in YARN's documentation, but not in its code, administrators of
// queues need not be administrators of the cluster.
func (s *API) changer(c *route.Call) (user string, groups []string, err error) {
	user = s.requested(c)
	if err := auth.MayActAs(c.R, user); err != nil {
		return "", nil, err
	}
	refused := s.administrator(c)
	if refused == nil && auth.Of(c.R).Role != yarn.RoleSubmit {
		return "", nil, nil
	}
	if conf := s.cfg.Views.Now().Conf; conf == nil || !conf.QueueAdminsChange {
		return "", nil, wsForbidden("Only admins can carry out this operation.")
	}
	if s.cfg.Groups != nil {
		groups = s.cfg.Groups(user)
	}
	return user, groups, nil
}

func (s *API) wsPutConf(c *route.Call) error {
	user, groups, err := s.changer(c)
	if err != nil {
		return err
	}
	for attempt := 0; ; attempt++ {
		st, _ := s.cfg.Reader.Fork()
		props, version, err := s.changed(c, st)
		var refused refusedConf
		if errors.As(err, &refused) {
			return s.plain(c, http.StatusBadRequest, string(refused))
		}
		if err != nil {
			return err
		}
		_, _, err = route.Do[*input.SetQueuesReply](c,
			&input.SetQueues{Properties: props, IfVersion: version, User: user, Groups: groups, Author: s.requested(c),
				Comment: "PUT " + wsRoot + schedConf})
		var fault *input.Refusal
		switch {
		case err == nil:
			return s.plain(c, http.StatusOK, "Configuration change successfully applied.")
		case !errors.As(err, &fault):
			return err
		case fault.Reason == input.NotAllowed:
			return s.plain(c, http.StatusBadRequest, "User is not admin of all modified queues.")
		case fault.Reason == input.VersionConflict && attempt < 3 && c.R.Header.Get(api.HeaderKey) == "":
			continue // another change came first: apply this one to its result
		}
		return s.plain(c, http.StatusBadRequest,
			"Failed to re-init queues : "+strings.Join(append([]string{fault.What}, fault.Details...), "; "))
	}
}

// plain answers with a text, under the content type of JSON, as Hadoop does here.
func (s *API) plain(c *route.Call, status int, text string) error {
	c.W.Header().Set("Content-Type", jsonType)
	c.W.WriteHeader(status)
	_, _ = c.W.Write([]byte(text)) // the client may be gone
	return nil
}

func (s *API) wsGetConf(c *route.Call) error {
	v, err := docsOf(c)
	if err != nil {
		return err
	}
	ver := v.State.Versions.Current()
	if ver == nil {
		return problem.NoQueues()
	}
	list := make([]obj, 0, len(ver.Properties))
	for _, p := range ver.Properties {
		list = append(list, obj{{"name", p.Name}, {"value", view.MaskProperty(p.Name, p.Value)}})
	}
	return s.writeBare(c, "configuration", filled("property", list))
}

func (s *API) wsConfVersion(c *route.Call) error {
	v, err := docsOf(c)
	if err != nil {
		return err
	}
	ver := v.State.Versions.Current()
	if ver == nil {
		return problem.NoQueues()
	}
	return s.writeBare(c, "configversion", obj{{"versionID", fmt.Sprint(ver.Version)}})
}

// wsConfFormat refuses: in YARN this read empties the configuration store.
func (s *API) wsConfFormat(c *route.Call) error {
	return s.plain(c, http.StatusBadRequest,
		"the configuration is replicated and has no store to format: \"rmd conf rollback\" goes back to an earlier version")
}

// wsValidateConf shows the configuration that the change would lead to, if it is valid.
func (s *API) wsValidateConf(c *route.Call) error {
	v, err := docsOf(c)
	if err != nil {
		return err
	}
	props, _, err := s.changed(c, v.State)
	if err == nil {
		err = v.mayReplace(props)
	}
	var invalid *capacity.Invalid
	var refused refusedConf
	if errors.As(err, &invalid) || errors.As(err, &refused) {
		return s.plain(c, http.StatusBadRequest,
			"CapacityScheduler configuration validation failed:java.io.IOException: Failed to re-init queues : "+err.Error())
	}
	if err != nil {
		return err
	}
	list := make([]obj, 0, len(props))
	for _, p := range props {
		list = append(list, obj{{"name", p.Name}, {"value", view.MaskProperty(p.Name, p.Value)}})
	}
	return s.writeBare(c, "configuration", filled("property", list))
}

// mayReplace returns why properties may not replace the configuration in force, or nil.
func (v *docs) mayReplace(props []input.Property) error {
	list := make([]capacity.Property, len(props))
	for i, p := range props {
		list[i] = capacity.Property(p)
	}
	conf, err := capacity.Parse(list)
	if err != nil {
		return err
	}
	return conf.Validate(v.Conf, func(path string) bool { return view.QueueHasApps(v.State, path) },
		func(path string) bool { return view.QueueStopped(v.State, path) })
}
