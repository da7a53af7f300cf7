package planner

import (
	"testing"

	"rmd/fsm/event"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// TestAskLabelRefusals checks that invalid labels of submissions, asks and moves are refused with
// YARN's messages, and that a refusal changes nothing.
func TestAskLabelRefusals(t *testing.T) {
	submit := func(label, am string) input.Input {
		return &input.SubmitApplication{User: "u", Queue: "a", AM: parseSize("1G"), Label: label, AMLabel: am}
	}
	ask := func(label string) input.Input {
		return &input.Allocate{Asks: []input.Ask{
			{Name: yarn.Any, Count: 1, Size: parseSize("1G"), Relax: true, Label: label}}}
	}
	atHost := func(label string) input.Input {
		in := ask("x").(*input.Allocate)
		in.Asks = append(in.Asks, input.Ask{Name: "n1", Count: 1, Size: parseSize("1G"), Relax: true, Label: label})
		return in
	}
	const noRight = "Invalid resource request, queue=a doesn't have permission to access all labels in resource request. labelExpression of resource request=y. Queue labels=x,z"
	const off = "Invalid resource request, node label not enabled but request contains label expression"
	for _, c := range []struct {
		conf string
		in   input.Input
		code input.Code
		what string
	}{
		{"", submit("y", ""), input.InvalidLabel, noRight},
		{"", submit("x", "y"), input.InvalidLabel, noRight},
		{"", submit("", "z"), input.NoSuchLabel, "Invalid label resource request, cluster do not contain , label= z"},
		{"", submit("", "x && z"), input.InvalidLabel,
			"Invalid resource request, queue=a specified more than one node label in a node label expression, node label expression = x && z"},
		{"", ask("y"), input.InvalidLabel, noRight},
		{"", ask(" z "), input.NoSuchLabel, "Invalid label resource request, cluster do not contain , label= z"},
		{"", ask("x&&y"), input.InvalidLabel,
			"Invalid resource request, queue=a specified more than one node label in a node label expression, node label expression = x&&y"},
		{"", atHost("x"), input.InvalidLabel,
			"Invalid resource request, queue=a specified node label expression in a resource request has resource name = n1"},
		{"", &input.MoveApplication{Queue: "b"}, input.InvalidLabel,
			"Specified queue=root.b can't satisfy following apps label expressions =[x] accessible node labels =[y]"},
		{"a.default-node-label-expression=x", &input.MoveApplication{Queue: "b", User: "am"}, input.InvalidLabel,
			"Specified queue=root.b can't satisfy following apps label expressions =[x] accessible node labels =[y]"},
		{"yarn.node-labels.enabled=false", submit("x", ""), input.LabelsOff, off},
		{"yarn.node-labels.enabled=false", submit("", "x"), input.LabelsOff, off},
		{"yarn.node-labels.enabled=false", ask("x"), input.LabelsOff, off},
		{"yarn.node-labels.enabled=false", atHost("x"), input.LabelsOff, off},
	} {
		w := askWorld(t, c.conf)
		switch in := c.in.(type) {
		case *input.Allocate:
			_, app := w.app("app")
			in.Attempt, in.Response = app.AttemptID(), app.Response
		case *input.MoveApplication:
			in.ID = w.apps["app"]
			if in.User == "am" { // Its AM has been allocated and asks for nothing more.
				w.tellAll("node add n9 8G\nlabel nodes n9=x\napp two user=u queue=a am=1G on=n9")
				in.ID = w.apps["two"]
			} else {
				w.tellAll("ask app 1x1G@9 label=x")
			}
		}
		before := w.p.st.Digest()
		f := w.plan(c.in).Refused()
		if f == nil || f.Reason != c.code || f.What != c.what || f.Do == "" {
			t.Errorf("%+v with configuration %q: refusal %v, want %s: %s; and what to do",
				c.in, c.conf, f, c.code, c.what)
		}
		for _, e := range w.events {
			if _, clock := e.(*event.TimeAdvanced); !clock {
				t.Errorf("%+v: refused, and %T", c.in, e)
			}
		}
		if len(w.events) == 0 && w.p.st.Digest() != before {
			t.Errorf("%+v: refused, and the state is another", c.in)
		}
	}
}

// askWorld returns a world with two queues that have labels, and with an application in queue a.
func askWorld(t testing.TB, conf string) *world {
	w := newWorld(t)
	if conf != "yarn.node-labels.enabled=false" {
		conf = "yarn.node-labels.enabled=true " + conf
	}
	w.tellAll(`conf queues=(a:50, b:50) a.accessible-node-labels=x,z b.accessible-node-labels=y a.accessible-node-labels.x.capacity=100 ` + conf + `
node add n1 8G
app app user=u queue=a`)
	if conf != "yarn.node-labels.enabled=false" {
		w.tellAll("label add x y")
	}
	return w
}

// TestEffectiveLabel checks which label an ask and an AM get from the labels of the ask, the
// application, the queue and the cluster.
func TestEffectiveLabel(t *testing.T) {
	const byQueue, enforced, am, emr = "a.default-node-label-expression=x",
		"yarn.node-labels.exclusive-enforced-partitions=x",
		"yarn.resourcemanager.node-labels.am.default-node-label-expression=x",
		"yarn.node-labels.am.default-node-label-expression=x"
	for _, c := range []struct {
		conf, app, am, ask string // the configuration, and the labels of application, AM and ask
		wantAM, wantAsk    string
	}{
		{"", "", "", "", "", ""},
		{"", "x", "", "", "x", "x"},
		{"", "x", "", "none", "x", ""},
		{"", "", "x", "", "x", ""},
		{"", "", "", "x", "", "x"},
		{byQueue, "", "", "", "x", "x"},
		{byQueue, "none", "", "", "", ""},
		{byQueue, "none", "", "x", "", "x"},
		{byQueue, "", "", "none", "x", ""},
		{am, "", "", "", "x", ""},
		{am, "none", "", "", "x", ""},
		{emr, "", "", "", "x", ""},
		{enforced, "x", "none", "none", "x", "x"},
		{enforced, "", "x", "x", "", ""},
		{enforced, "none", "x", "x", "", ""},
		{enforced + " " + byQueue, "", "x", "none", "x", ""},
	} {
		w := askWorld(t, c.conf)
		told := func(key, label string) string {
			if label == "" {
				return ""
			}
			return " " + key + "=" + label
		}
		w.tellAll("app one user=u queue=a am=1G" + told("label", c.app) + told("amlabel", c.am))
		slot, app := w.app("one")
		if got := w.p.st.Labels.Name(app.AMLabel); got != c.wantAM || app.Details().AMLabel != c.wantAM {
			t.Errorf("%+v: the AM has label %q", c, got)
		}
		if c.wantAM != "" {
			w.tellAll("label nodes n1=" + c.wantAM)
		}
		for range 3 {
			w.plan(&input.NodeHeartbeat{ID: w.nodes["n1"]})
		}
		w.launch(slot)
		w.plan(&input.RegisterAttempt{Attempt: app.AttemptID()})
		w.tellAll("ask one 1x1G@7" + told("label", c.ask))
		_, app = w.app("one")
		ask := w.p.st.Asks.Find(app, yarn.SchedulerKey{Priority: 7})
		if ask == 0 {
			t.Fatalf("%+v: nothing is asked", c)
		}
		if got := w.p.st.Labels.Name(w.p.st.Asks.Get(ask).Label); got != c.wantAsk {
			t.Errorf("%+v: the ask has label %q", c, got)
		}
	}
}

// TestAskLabelChangeEndsReservation checks that the reservation of an ask ends when the AM asks for
// the same key with another label.
func TestAskLabelChangeEndsReservation(t *testing.T) {
	for _, eager := range []string{"true", "false"} {
		w := askWorld(t, "reservation.eager-cancel="+eager)
		w.tellAll("node add n2 8G\nnode add n3 8G\nlabel nodes n2=x n3=x\nask app 1x6G@1 label=x\nhb n2\nask app 1x6G@2 label=x\nhb n2")
		_, app := w.app("app")
		if app.Reservations == 0 {
			t.Fatal("nothing is reserved")
		}
		w.tellAll("ask app 1x6G@2 label=none\nhb n2\nhb n1")
		_, app = w.app("app")
		if app.Reservations != 0 || app.Outstanding != 0 {
			t.Errorf("eager-cancel %s: %d reservations, %d asked", eager, app.Reservations, app.Outstanding)
		}
	}
}
