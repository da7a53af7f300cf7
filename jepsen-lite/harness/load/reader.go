package load

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"

	"rmd/api"
	"rmd/jepsen-lite/history"
)

// reader reads applications, the queue adhoc and the last node from any replica, consistently or
// within a session.
type reader struct {
	l     *Load
	name  string
	rng   *rand.Rand
	hist  *history.Client
	stale session
}

func (r *reader) run() {
	r.hist, r.stale.name = r.l.rec.Client(r.name), r.name
	for sleep(r.l.demand, jitter(r.rng, r.l.cfg.Pace)) {
		var stale *session
		if r.rng.IntN(3) == 0 {
			stale = &r.stale
		}
		switch r.rng.IntN(6) {
		case 0:
			r.queue(stale)
		case 1:
			r.node(stale)
		default:
			r.l.mu.Lock()
			n := len(r.l.apps)
			var app App
			if n > 0 {
				app = r.l.apps[n-1-r.rng.IntN(min(n, 20))]
			}
			r.l.mu.Unlock()
			if n > 0 {
				r.l.readApp(r.hist, r.rng, app.ID, stale)
			}
		}
	}
}

// finishRead records the outcome of a read.
func finishRead(hist *history.Client, out history.Value, err error) {
	if err == nil {
		hist.OK(out)
		return
	}
	if code, refused := refusal(err); refused {
		hist.Fail(codeOf(code))
		return
	}
	hist.Info(err.Error())
}

// readApp reads an application's state. It returns false if there was no answer.
func (l *Load) readApp(hist *history.Client, rng *rand.Rand, id string, s *session) (string, bool) {
	hist.Invoke(history.ReadApp, s.value(history.Value{App: id}))
	got, err := l.read(rng, "/v1/apps/"+id, s)
	var app api.App
	if err == nil {
		err = json.Unmarshal(got.body, &app)
	}
	finishRead(hist, s.value(history.Value{App: id, State: app.State, Queue: app.Queue,
		Text: strconv.Itoa(int(app.Priority)), Name: app.Name, Index: got.index}), err)
	return app.State, err == nil
}

func (r *reader) queue(s *session) {
	r.hist.Invoke(history.ReadQueue, s.value(history.Value{Queue: adhoc}))
	got, err := r.l.read(r.rng, "/v1/queues/"+adhoc, s)
	var q api.Queue
	if err == nil {
		err = json.Unmarshal(got.body, &q)
	}
	finishRead(r.hist, s.value(history.Value{Queue: adhoc, State: q.State, Text: strconv.FormatInt(q.MaxApps, 10),
		Index: got.index}), err)
}

func (r *reader) node(s *session) {
	id := fmt.Sprintf("n%d:45454", r.l.cfg.Nodes)
	r.hist.Invoke(history.ReadNode, s.value(history.Value{Node: id}))
	got, err := r.l.read(r.rng, "/v1/nodes/"+id, s)
	var n api.Node
	if err == nil {
		err = json.Unmarshal(got.body, &n)
	}
	finishRead(r.hist, s.value(history.Value{Node: id, State: n.State, Index: got.index}), err)
}
