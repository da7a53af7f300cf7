package client

import (
	"strconv"
	"strings"

	"rmd/fsm/state"
	"rmd/transport/hadoop/ipc"
	"rmd/yarn"
)

// view is one state with what is needed to show it to one caller.
type view struct {
	s      *Service
	st     *state.State
	kinds  yarn.Kinds
	calc   yarn.Calculator
	user   string // the caller
	client string // the caller as AMs know it: its principal, if it has a ticket
	now    int64  // Unix milliseconds
	acls   bool   // yarn.acl.enable
	admin  bool
	groups []string // only with acls
	queues map[state.QueueSlot]*queue
}

// queue is a queue that a view has looked up.
type queue struct {
	Queue
	known, administer bool
}

func (s *Service) view(st *state.State, c *ipc.Caller) *view {
	v := &view{s: s, st: st, kinds: st.Versions.Kinds(), user: s.userOf(c), now: s.cfg.Now().UnixMilli()}
	v.client = c.User
	if c.RealUser == "" && c.Principal != "" {
		v.client = c.Principal
	}
	v.calc = yarn.Calculator{Kinds: len(v.kinds)}
	if ver := st.Versions.Current(); ver != nil {
		v.calc.Dominant = ver.Dominant
	}
	if v.acls = s.cfg.Access.Enabled(); v.acls {
		v.admin, v.groups = s.cfg.Access.Admin(v.user), s.cfg.Access.Groups(v.user)
	}
	return v
}

// userOf returns the user of a caller. The name of a caller with a ticket is that of its rule
// (hadoop.security.auth_to_local), which may contain a realm: ann@OTHER is not ann. Other callers only
// say who they are, and may do so by a principal.
func (s *Service) userOf(c *ipc.Caller) string {
	if s.cfg.ShortName != nil || c.Kind == ipc.KindKerberos {
		return c.User
	}
	return shortName(c.User)
}

// shortName returns the user of a Kerberos principal. A simple name does not change.
func shortName(user string) string {
	if i := strings.IndexAny(user, "/@"); i > 0 {
		return user[:i]
	}
	return user
}

// queue returns the queue in a slot. The view looks up each queue once.
func (v *view) queue(slot state.QueueSlot) *queue {
	if q := v.queues[slot]; q != nil {
		return q
	}
	q := new(queue)
	if v.st.Queues.Has(slot) {
		q.Queue, q.known = v.s.cfg.Queues.Queue(v.st, slot)
		if v.acls {
			_, q.administer = v.s.cfg.Queues.May(v.st, slot, v.user, v.groups)
		}
	}
	if v.queues == nil {
		v.queues = make(map[state.QueueSlot]*queue, 4)
	}
	v.queues[slot] = q
	return q
}

// queuePath returns the path of the queue in a slot. It is "" if the queue was removed, which is
// possible after an application has ended.
func (v *view) queuePath(slot state.QueueSlot) string {
	if !v.st.Queues.Has(slot) {
		return ""
	}
	return v.st.Queues.Get(slot).Path
}

// Kinds of access to an application.
type right uint8

const (
	viewApp right = iota
	modifyApp
)

func (r right) String() string {
	if r == modifyApp {
		return "MODIFY_APP"
	}
	return "VIEW_APP"
}

// hasRight reports whether the caller has a right to an application: as an administrator, as the
// owner, by the application's own ACLs, or as an administrator of its queue. As in YARN, everybody
// has the right if the queue was removed.
func (v *view) hasRight(a *state.App, r right) bool {
	if !v.acls || v.admin || v.user == v.st.Names.Text(a.User) {
		return true
	}
	lists := contextACLs([]byte(a.Details().Context))
	text := lists.View
	if r == modifyApp {
		text = lists.Modify
	}
	if yarn.ParseACL(text).Allows(v.user, v.groups...) {
		return true
	}
	return !v.st.Queues.Has(a.Queue) || v.queue(a.Queue).administer
}

// app returns an application, or YARN's error if there is none.
func (v *view) app(id yarn.ApplicationID) (*state.App, error) {
	slot := v.st.Apps.ByID(id)
	if slot == 0 {
		return nil, noApplication(id)
	}
	return v.st.Apps.Get(slot), nil
}

// modify returns an application that the caller may change, or YARN's error.
func (v *view) modify(id yarn.ApplicationID) (*state.App, error) {
	a, err := v.app(id)
	if err != nil {
		return nil, err
	}
	return a, v.mayModify(a)
}

func (v *view) mayModify(a *state.App) error {
	if v.hasRight(a, modifyApp) {
		return nil
	}
	return denied("User %s cannot perform operation %s on %s", v.user, modifyApp, a.ID)
}

// stateName returns the application's state in YARN's RMAppState, as refusals name it.
func stateName(a *state.App) string {
	if a.AttemptState == state.AttemptFinishing && !a.State.Ended() {
		return "FINISHING"
	}
	return a.State.String()
}

// isFinal reports whether an application can no longer be changed.
func isFinal(a *state.App) bool { return a.State.Ended() || a.AttemptState == state.AttemptFinishing }

// nodeHTTP returns the address of a node's pages, host:port.
func nodeHTTP(n *state.Node) string { return n.ID.Host + ":" + strconv.Itoa(int(n.HTTPPort)) }

// proxyURL returns the address of an AM's pages at the proxy.
func (s *Service) proxyURL(id yarn.ApplicationID) string {
	if s.proxy == "" {
		return unavailable
	}
	return s.proxy + "/proxy/" + id.String() + "/"
}

// appPage returns the address of an application's page.
func (s *Service) appPage(id yarn.ApplicationID) string {
	if s.web == "" {
		return unavailable
	}
	return s.web + "/cluster/app/" + id.String()
}

// diagnostics adds the address of the application's page to the text of a failure, as YARN does.
// The planner does not know the address.
func (s *Service) diagnostics(id yarn.ApplicationID, text string) string {
	const failing, end = "\nFailing this attempt.Diagnostics: ", ". Failing the application."
	if s.web == "" || !strings.Contains(text, failing) {
		return text
	}
	text, whole := strings.CutSuffix(text, end)
	text += "For more detailed output, check the application tracking page: " + s.appPage(id) +
		" Then click on links to logs of each attempt.\n"
	if whole {
		text += end
	}
	return text
}
