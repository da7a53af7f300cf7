package client

import (
	"strconv"
	"strings"

	"rmd/fsm/state"
	"rmd/transport/hadoop/access"
	"rmd/transport/hadoop/ipc"
	"rmd/yarn"
)

// view is one state with what it takes to show it to one caller.
type view struct {
	s      *Service
	st     *state.State
	kinds  yarn.Kinds
	calc   yarn.Calculator
	user   string // who asks
	now    int64  // Unix milliseconds
	acls   bool   // yarn.acl.enable
	admin  bool
	groups []string // only with acls
	queues map[uint32]*queue
}

// queue is what a view remembers of one queue.
type queue struct {
	Queue
	known, administer bool
}

func (s *Service) view(st *state.State, c *ipc.Caller) *view {
	v := &view{s: s, st: st, kinds: st.Kinds(), user: shortName(c.User), now: s.cfg.Now().UnixMilli()}
	v.calc = yarn.Calculator{Kinds: len(v.kinds)}
	if ver := st.Version(); ver != nil {
		v.calc.Dominant = ver.Dominant
	}
	if v.acls = s.cfg.Access.Enabled(); v.acls {
		v.admin, v.groups = s.cfg.Access.Admin(v.user), s.cfg.Access.Groups(v.user)
	}
	return v
}

// shortName is the user of a Kerberos principal; simple names are their own.
func shortName(user string) string {
	if i := strings.IndexAny(user, "/@"); i > 0 {
		return user[:i]
	}
	return user
}

// queue shows the queue in a slot; each is asked for once.
func (v *view) queue(slot uint32) *queue {
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
		v.queues = make(map[uint32]*queue, 4)
	}
	v.queues[slot] = q
	return q
}

// queuePath is the path of a queue's slot; an ended application's may be gone.
func (v *view) queuePath(slot uint32) string {
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

// may says whether the caller has a right to an application: as administrator,
// as owner, by the application's own lists, or as administrator of its queue. A
// queue that is gone keeps nobody out, as in YARN.
func (v *view) may(a *state.App, r right) bool {
	if !v.acls || v.admin || v.user == v.st.NameOf(a.User) {
		return true
	}
	lists := contextACLs([]byte(a.Details().Context))
	text := lists.View
	if r == modifyApp {
		text = lists.Modify
	}
	if access.ParseACL(text).Allows(v.user, v.groups) {
		return true
	}
	return !v.st.Queues.Has(a.Queue) || v.queue(a.Queue).administer
}

// app finds an application, with YARN's refusal.
func (v *view) app(id yarn.ApplicationID) (*state.App, error) {
	slot := v.st.AppByID(id)
	if slot == 0 {
		return nil, noApplication(id)
	}
	return v.st.Apps.Get(slot), nil
}

// modify finds an application that the caller may change.
func (v *view) modify(id yarn.ApplicationID) (*state.App, error) {
	a, err := v.app(id)
	if err != nil {
		return nil, err
	}
	return a, v.mayModify(a)
}

func (v *view) mayModify(a *state.App) error {
	if v.may(a, modifyApp) {
		return nil
	}
	return denied("User %s cannot perform operation %s on %s", v.user, modifyApp, a.ID)
}

// stateName is YARN's name for where an application stands inside the
// ResourceManager, as its refusals give it.
func stateName(a *state.App) string {
	if a.AttemptState == state.AttemptFinishing && !a.State.Ended() {
		return "FINISHING"
	}
	return a.State.String()
}

// over says whether nothing about an application can be changed any more.
func over(a *state.App) bool { return a.State.Ended() || a.AttemptState == state.AttemptFinishing }

// nodeHTTP is where a node serves its pages, host:port.
func nodeHTTP(n *state.Node) string { return n.ID.Host + ":" + strconv.Itoa(int(n.HTTPPort)) }

func (s *Service) proxyURL(id yarn.ApplicationID) string {
	return s.proxy + "/proxy/" + id.String() + "/"
}

func (s *Service) appPage(id yarn.ApplicationID) string { return s.web + "/cluster/app/" + id.String() }

// diagnostics puts into the text of a failure what YARN has there and the
// planner cannot know: where the application's page is.
func (s *Service) diagnostics(id yarn.ApplicationID, text string) string {
	const failing, end = "\nFailing this attempt.Diagnostics: ", ". Failing the application."
	if !strings.Contains(text, failing) {
		return text
	}
	text, whole := strings.CutSuffix(text, end)
	text += "For more detailed output, check the application tracking page: " + s.appPage(id) + " Then click on links to logs of each attempt.\n"
	if whole {
		text += end
	}
	return text
}
