package load

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"

	"rmd/api"
	"rmd/jepsen-lite/history"
	"rmd/yarn"
)

// operator submits and changes applications, queues and nodes.
type operator struct {
	l     *Load
	name  string
	rng   *rand.Rand
	hist  *history.Client
	count int
}

func (o *operator) run() {
	o.hist = o.l.rec.Client(o.name)
	first := o.name == "op0" // only one operator changes queues and nodes, so that versions do not conflict
	for sleep(o.l.demand, jitter(o.rng, o.l.cfg.Pace)) {
		o.count++
		switch d := o.rng.IntN(20); {
		case d < 6:
			o.submit()
		case d < 9:
			o.act(history.Kill, ":kill")
		case d < 12:
			o.act(history.Move, ":move")
		case d < 14:
			o.act(history.Prioritize, ":priority")
		case d < 16:
			o.duplicate()
		case !first:
			o.submit()
		case d < 18:
			o.queue()
		default:
			o.node()
		}
	}
}

// submission returns the document of an unmanaged application. It runs only if an AM registers for
// it.
func submission(name, queue string) api.Submit {
	return api.Submit{Name: name, User: "user-" + name[:2], Queue: queue, Unmanaged: true}
}

// submit submits an application with its own key. It returns false if the submission was refused or
// its outcome is unknown.
func (l *Load) submit(hist *history.Client, rng *rand.Rand, name, key, queue string) (App, bool) {
	app := App{Name: name, Queue: queue, Key: key}
	doc := submission(name, queue)
	hist.Invoke(history.Submit, history.Value{Name: name, User: doc.User, Queue: queue, Key: app.Key})
	got, err := l.write(rng, http.MethodPost, "/v1/apps", app.Key, doc)
	var made api.Submitted
	if err == nil {
		err = json.Unmarshal(got.body, &made)
	}
	if !record(hist, history.Value{App: made.ID, Queue: made.Queue, Index: made.Index}, err) {
		return app, false
	}
	app.ID = made.ID
	l.mu.Lock()
	l.apps = append(l.apps, app)
	l.mu.Unlock()
	return app, true
}

func (o *operator) submit() {
	o.l.submit(o.hist, o.rng, fmt.Sprintf("%s-%d", o.name, o.count), o.key(), Queues[o.rng.IntN(len(Queues))])
}

// randomApp returns one of the 12 newest applications.
func (o *operator) randomApp() (App, bool) {
	o.l.mu.Lock()
	defer o.l.mu.Unlock()
	n := len(o.l.apps)
	if n == 0 {
		return App{}, false
	}
	return o.l.apps[n-1-o.rng.IntN(min(n, 12))], true
}

// act kills, moves or prioritizes an application.
func (o *operator) act(f history.F, verb string) {
	app, ok := o.randomApp()
	if !ok {
		return
	}
	in, body := history.Value{App: app.ID}, any(api.Kill{Diagnostics: "by " + o.name})
	switch f {
	case history.Move:
		in.Queue = Queues[o.rng.IntN(len(Queues))]
		body = api.Move{Queue: in.Queue}
	case history.Prioritize:
		p := int32(o.rng.IntN(10))
		in.Text, body = strconv.Itoa(int(p)), api.Priority{Priority: p}
	}
	o.hist.Invoke(f, in)
	_, err := o.l.write(o.rng, http.MethodPost, "/v1/apps/"+app.ID+verb, o.key(), body)
	record(o.hist, history.Value{}, err)
}

// duplicate repeats an old submission with the same key. With the same content it must give the
// same application. With other content it must be refused.
func (o *operator) duplicate() {
	app, ok := o.randomApp()
	if !ok {
		return
	}
	queue := app.Queue
	other := o.rng.IntN(2) == 0
	if other {
		queue = "root.other"
	}
	doc := submission(app.Name, queue)
	o.hist.Invoke(history.Submit, history.Value{Name: app.Name, User: doc.User, Queue: queue, Key: app.Key})
	got, err := o.l.write(o.rng, http.MethodPost, "/v1/apps", app.Key, doc)
	var made api.Submitted
	if err == nil {
		err = json.Unmarshal(got.body, &made)
	}
	record(o.hist, history.Value{App: made.ID, Queue: made.Queue, Index: made.Index}, err)
	switch {
	case err == nil && other:
		o.l.violate("S5", "key %s was taken twice with different content: %s", app.Key, made.ID)
	case err == nil && made.ID != app.ID:
		o.l.violate("S5", "key %s was acknowledged as %s and is now %s", app.Key, app.ID, made.ID)
	}
}

// adhoc is the queue that the operators change.
const adhoc = "root.adhoc"

// queue stops or starts the queue adhoc. If the seed is odd, it sets a property of the queue
// instead, because a new configuration brings its own states of all queues.
func (o *operator) queue() {
	if o.l.cfg.Seed%2 == 1 {
		o.setQueue()
		return
	}
	if o.rng.IntN(3) == 0 {
		o.hist.Invoke(history.QueueStop, history.Value{Queue: adhoc})
		_, err := o.l.write(o.rng, http.MethodPost, "/v1/queues/"+adhoc+":stop", o.key(), nil)
		record(o.hist, history.Value{}, err)
		return
	}
	o.hist.Invoke(history.QueueStart, history.Value{Queue: adhoc})
	_, err := o.l.write(o.rng, http.MethodPost, "/v1/queues/"+adhoc+":start", o.key(), nil)
	record(o.hist, history.Value{}, err)
}

func (o *operator) key() string { return keyOf(o.name, o.count) }

// keyOf returns an idempotency key: a client and a sequence number.
func keyOf(name string, n int) string { return fmt.Sprintf("chaos-%s/%d", name, n) }

// maxApps is the property that the operators set.
const maxApps = "yarn.scheduler.capacity." + adhoc + ".maximum-applications"

// setQueue changes one property of the replicated configuration. The write has the condition that
// the version is still the one that it read.
func (o *operator) setQueue() {
	got, err := o.l.read(o.rng, "/v1/conf", nil)
	if err != nil {
		return
	}
	var conf api.Conf
	if json.Unmarshal(got.body, &conf) != nil || conf.Properties == nil {
		o.l.note("the configuration could not be read: %.200s", got.body)
		return
	}
	value := strconv.Itoa(1000 + o.count)
	conf.Properties[maxApps] = value
	o.hist.Invoke(history.QueueSet, history.Value{Queue: adhoc, Text: value})
	_, err = o.l.writeMatching(o.rng, "/v1/conf", o.key(), conf.Version,
		api.PutConf{Properties: conf.Properties, Comment: o.key()})
	record(o.hist, history.Value{}, err)
}

// node drains the last node or ends its drain.
func (o *operator) node() {
	id := yarn.NodeID{Host: fmt.Sprintf("n%d", o.l.cfg.Nodes), Port: 45454}.String()
	f, verb := history.NodeDrain, ":drain"
	if o.rng.IntN(2) == 0 {
		f, verb = history.NodeAdd, ":undrain"
	}
	o.hist.Invoke(f, history.Value{Node: id})
	_, err := o.l.write(o.rng, http.MethodPost, "/v1/nodes/"+id+verb, o.key(), nil)
	record(o.hist, history.Value{}, err)
}
