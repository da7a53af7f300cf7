package httpserver

import (
	"net/http"
	"slices"
	"strings"

	"rmd/fsm/state"
	"rmd/transport/http/summary"
	"rmd/transport/http/v1/api"
	"rmd/yarn"
)

func (s *Server) appRoutes() []route {
	return []route{
		get("/v1/apps", "state queue user type name tag limit after order", listApps),
		post("/v1/apps", "dry_run explain", submitApp),
		get("/v1/apps/{id}", "", ofApp(showApp)),
		get("/v1/apps/{id}/explain", "", ofApp(explainApp)),
		get("/v1/apps/{id}/containers", "limit after", ofApp(appContainers)),
		get("/v1/apps/{id}/attempts", "", ofApp(appAttempts)),
		get("/v1/apps/{id}/asks", "", ofApp(appAsks)),
		post("/v1/apps/{id}:kill", "", killApp),
		post("/v1/apps/{id}:move", "", moveApp),
		post("/v1/apps/{id}:priority", "", prioritizeApp),
		post("/v1/apps/{id}/attempt:register", "", registerAttempt),
		post("/v1/apps/{id}/attempt:allocate", "", allocate),
		post("/v1/apps/{id}/attempt:finish", "", finishAttempt),
	}
}

// appFilter says which applications a list is of.
type appFilter struct {
	states    map[string]bool
	queue     uint32
	under     []bool // by queue's slot: the queue asked for, or one below it
	user      state.NameID
	userName  string
	kind, tag string
	name      string
}

// set reads a comma list of words, in upper case; nil when there are none.
func set(values []string) map[string]bool {
	var out map[string]bool
	for _, v := range values {
		for _, w := range strings.Split(v, ",") {
			if w = strings.ToUpper(strings.TrimSpace(w)); w != "" {
				if out == nil {
					out = map[string]bool{}
				}
				out[w] = true
			}
		}
	}
	return out
}

var appStates = []string{"SUBMITTED", "ACCEPTED", "RUNNING", "FINISHED", "FAILED", "KILLED"}

// words checks that every word of a filter is one that exists.
func words(field string, have map[string]bool, known []string) error {
	for w := range have { // any one wrong word will do for the message
		if !slices.Contains(known, w) {
			return invalid(field+"="+w+" is not known", "give "+strings.Join(known, ", "), w)
		}
	}
	return nil
}

func (c *call) appFilter(v *view) (appFilter, error) {
	f := appFilter{states: set(c.q["state"]), kind: c.q.Get("type"), tag: c.q.Get("tag"), name: c.q.Get("name"), userName: c.q.Get("user")}
	if err := words("state", f.states, appStates); err != nil {
		return f, err
	}
	if q := c.q.Get("queue"); q != "" {
		slot, err := v.queue(q)
		if err != nil {
			return f, err
		}
		f.setQueue(v, slot)
	}
	f.user = v.st.NameID(f.userName)
	return f, nil
}

func (f *appFilter) setQueue(v *view, slot uint32) {
	f.queue, f.under = slot, v.subtree(slot)
}

// subtree marks a queue and those below it, by slot.
func (v *view) subtree(slot uint32) []bool {
	out := make([]bool, v.st.Queues.Cap())
	var walk func(slot uint32)
	walk = func(slot uint32) {
		out[slot] = true
		for _, k := range v.st.Queues.Get(slot).Children {
			walk(k)
		}
	}
	walk(slot)
	return out
}

func (f *appFilter) pass(v *view, a *summary.App) bool {
	switch {
	case f.states != nil && !f.states[a.Shown.String()],
		f.userName != "" && a.User != f.user,
		f.queue != 0 && !f.under[a.Queue]:
		return false
	case f.kind == "" && f.name == "" && f.tag == "":
		return true
	}
	d := v.st.Apps.Get(a.Slot).Details()
	return (f.kind == "" || strings.EqualFold(f.kind, d.Type)) && (f.name == "" || f.name == d.Name) && (f.tag == "" || slices.Contains(d.Tags, f.tag))
}

// each calls yield with the slots of the applications that pass, by sequence
// number, which is the order of submission and never changes: pages taken one
// after the other are free of gaps and repetitions whatever happens between.
func (f *appFilter) each(v *view, after uint32, newest bool, yield func(slot uint32) bool) {
	v.census().From(after, newest, func(a *summary.App) bool {
		return !f.pass(v, a) || yield(a.Slot)
	})
}

// pick returns the first of them, one more than the limit; all without one.
func (f *appFilter) pick(v *view, after uint32, newest bool, limit int) []uint32 {
	var out []uint32
	f.each(v, after, newest, func(slot uint32) bool {
		out = append(out, slot)
		return limit == 0 || len(out) <= limit
	})
	return out
}

func listApps(c *call) error {
	limit, err := c.limit()
	if err != nil {
		return err
	}
	var after yarn.ApplicationID
	if text := c.q.Get("after"); text != "" {
		if after, err = yarn.ParseApplicationID(text); err != nil {
			return invalid("after: "+err.Error(), "give the next of the page before")
		}
	}
	order := c.q.Get("order")
	if order != "" && order != "newest" && order != "oldest" {
		return invalid("order="+order+" is not known", "give oldest or newest")
	}
	v, err := c.view()
	if err != nil {
		return err
	}
	f, err := c.appFilter(v)
	if err != nil {
		return err
	}
	slots, next := page(f.pick(v, after.Seq, order == "newest", limit), limit, func(slot uint32) string { return v.st.Apps.Get(slot).ID.String() })
	items := func(yield func(api.App) bool) {
		for _, slot := range slots {
			if !yield(v.appDoc(v.st.Apps.Get(slot))) {
				return
			}
		}
	}
	return list(c, "apps", items, func() any { return nextPage{next} })
}

// ofApp makes a handler that shows something of the path's application.
func ofApp(h func(c *call, v *view, a *state.App) error) handler {
	return func(c *call) error {
		v, err := c.view()
		if err != nil {
			return err
		}
		_, slot, err := v.app(c.args["id"])
		if err != nil {
			return err
		}
		return h(c, v, v.st.Apps.Get(slot))
	}
}

func showApp(c *call, v *view, a *state.App) error { return c.json(http.StatusOK, v.appDoc(a)) }

func explainApp(c *call, v *view, a *state.App) error {
	doc, err := c.s.explainOf(v, a.ID)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, doc)
}

// explainOf is the planner's explanation in the state of the view. One at a time:
// planning costs a core.
func (s *Server) explainOf(v *view, id yarn.ApplicationID) (any, error) {
	if s.cfg.Explain == nil {
		return nil, notAvailable("the explanation")
	}
	s.explain.Lock()
	defer s.explain.Unlock()
	return s.cfg.Explain(v.st, id)
}

// privateFork is a state to plan on: the committed one's, or without Planning
// the shared fork's, one at a time.
func (s *Server) privateFork(shared *state.State) *state.State {
	if s.cfg.Planning != nil {
		return s.cfg.Planning()
	}
	s.forking.Lock()
	defer s.forking.Unlock()
	return shared.Fork()
}

var attemptStates = [...]string{"NONE", "PARKED", "PENDING", "ACTIVE", "REGISTERED", "FINISHING", "ENDED"}

func attemptState(s state.AttemptState) string {
	if int(s) < len(attemptStates) {
		return attemptStates[s]
	}
	return "UNKNOWN"
}

// appDoc shows one application.
func (v *view) appDoc(a *state.App) api.App {
	about := a.Details()
	d := api.App{
		ID: a.ID.String(), Name: about.Name, User: v.st.NameOf(a.User), Queue: v.queuePath(a.Queue), Type: about.Type, Tags: about.Tags,
		State: a.Shown().String(), FinalStatus: a.Final.String(), Priority: a.Priority, Unmanaged: a.Unmanaged, KeepContainers: a.KeepContainers,
		SubmittedMillis: a.SubmittedMillis, StartedMillis: a.StartedMillis, EndedMillis: a.EndedMillis, WaitMillis: v.waited(a),
		LifetimeMillis: a.LifetimeMillis, AttemptState: attemptState(a.AttemptState), MaxAttempts: a.MaxAttempts, Failures: a.Failures,
		AM: v.size(a.AM), Used: v.size(a.Used), Reserved: v.size(a.Reserved), Pending: v.size(a.Pending),
		Outstanding: a.Outstanding, Containers: a.Live, Reservations: a.Reserving, Response: a.Response,
		Host: about.Host, RPCPort: a.RPCPort, TrackingURL: about.TrackingURL, Diagnostics: about.Diagnostics,
	}
	if a.Attempt != 0 {
		d.Attempt = a.AttemptID().String()
	}
	for _, id := range a.Blacklist {
		d.Blacklist = append(d.Blacklist, v.st.NameOf(id))
	}
	slices.Sort(d.Blacklist)
	return d
}

// waited is how long an application waited for its AM: until it registered, or
// it ended without that, or until now.
func (v *view) waited(a *state.App) int64 {
	until := v.st.Meta.NowMillis
	switch {
	case a.StartedMillis != 0:
		until = a.StartedMillis
	case a.EndedMillis != 0:
		until = a.EndedMillis
	}
	return max(until-a.SubmittedMillis, 0)
}
