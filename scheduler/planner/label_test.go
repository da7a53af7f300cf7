package planner

import (
	"fmt"
	"strings"
	"testing"

	"rmd/fsm/event"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// labelWorld returns a world with two labels, two nodes, and a queue that may use one of the
// labels.
func labelWorld(t testing.TB, more string) *world {
	w := newWorld(t)
	w.tellAll(`conf queues=(a:50, b:50) yarn.node-labels.enabled=true a.accessible-node-labels=x a.accessible-node-labels.x.capacity=100 ` + more + `
label add x y
node add n1 8G
node add n2 8G`)
	return w
}

func labelled(words ...string) *input.LabelNodes {
	in := &input.LabelNodes{}
	for _, word := range words {
		at, labels, _ := strings.Cut(word, "=")
		n := input.LabelledNode{ID: yarn.NodeID{Host: at}}
		if host, port, ok := strings.Cut(at, ":"); ok {
			n.ID.Host = host
			_, _ = fmt.Sscan(port, &n.ID.Port)
		}
		if labels != "" {
			n.Labels = strings.Split(labels, ",")
		}
		in.Nodes = append(in.Nodes, n)
	}
	return in
}

func known(in *input.LabelNodes) *input.LabelNodes { in.KnownOnly = true; return in }
func ofNode(in *input.LabelNodes) *input.LabelNodes {
	in.FromNode = true
	return in
}

// TestLabelRefusals checks that wrong label commands are refused with YARN's messages and change
// nothing.
func TestLabelRefusals(t *testing.T) {
	add := func(exclusive bool, names ...string) *input.SetLabels {
		in := &input.SetLabels{}
		for _, n := range names {
			in.Labels = append(in.Labels, input.Label{Name: n, Exclusive: exclusive})
		}
		return in
	}
	for _, c := range []struct {
		conf string
		in   input.Input
		code input.Code
		what string
	}{
		{"", add(false, "z", "x"), input.InvalidLabel,
			"Exclusivity cannot be modified for an existing label with : <x:exclusivity=false>"},
		{"", &input.SetLabels{Labels: []input.Label{{Name: "z", Exclusive: true}, {Name: " z"}}}, input.InvalidLabel,
			"Exclusivity cannot be modified for an existing label with : <z:exclusivity=false>"},
		{"", add(true, "z", "_y"), input.InvalidLabel,
			"label name should only contains {0-9, a-z, A-Z, -, _} and should not started with {-,_}, now it is= _y"},
		{"", add(true, "z", ""), input.InvalidLabel, "label added is empty or exceeds 255 character(s)"},
		{"", add(true, strings.Repeat("z", 256)), input.InvalidLabel, "label added is empty or exceeds 255 character(s)"},
		{"", &input.RemoveLabels{Names: []string{"y", "z"}}, input.NoSuchLabel,
			"Node label=z to be removed doesn't existed in cluster node labels collection."},
		{"", &input.RemoveLabels{Names: []string{"y", " "}}, input.InvalidLabel, "Label to be removed is null or empty"},
		{"", &input.RemoveLabels{Names: []string{"y", "x"}}, input.LabelInUse,
			"Cannot remove label=x, because queue=root.a is using this label. Please remove label on queue before remove the label"},
		{"", labelled("n1=x", "n2=x,y"), input.InvalidLabel,
			"2 labels specified on host=n2, please note that we do not support specifying multiple labels on a single host for now."},
		{"", labelled("n1=x", "n2=y", "n1=y"), input.InvalidLabel,
			"2 labels specified on host=n1, please note that we do not support specifying multiple labels on a single host for now."},
		{"", labelled("n1=x", "n2=z"), input.NoSuchLabel,
			"Not all labels being replaced contained by known label collections, please check, new labels=[z]"},
		{"", labelled("n1=x", "=x"), input.InvalidRequest, "a node has no host"},
		{"", known(labelled("n1=x", "n2:1=x", "n3=x", "n2:2=x")), input.NoSuchNode,
			"Failed to replace labels as there are unknown nodes:[n3:0, n2:2]"},
		{"", ofNode(labelled("n1:1=x")), input.NotAllowed, "NodeManagers do not tell their labels, administrators set them"},
		{"yarn.node-labels.configuration-type=distributed", labelled("n1:1=x"), input.NotAllowed,
			"Error when invoke method=replaceLabelsOnNode because centralized node label configuration is not enabled."},
	} {
		w := labelWorld(t, c.conf)
		before := w.p.st.Digest()
		f := w.plan(c.in).Refused()
		if f == nil || f.Reason != c.code || f.What != c.what || f.Do == "" {
			t.Errorf("%+v with configuration %q: refusal %v, want %s: %s; and what to do",
				c.in, c.conf, f, c.code, c.what)
		}
		if len(w.events) > 0 || w.p.st.Digest() != before {
			t.Errorf("%+v: refused, and %d events", c.in, len(w.events))
		}
	}
}

func TestLabelsOff(t *testing.T) {
	w := newWorld(t)
	w.tellAll("conf queues=(a:100)")
	for _, in := range []input.Input{&input.SetLabels{Labels: []input.Label{{Name: "x"}}},
		&input.RemoveLabels{Names: []string{"x"}}, labelled("n1=")} {
		if f := w.plan(in).Refused(); f == nil || f.Reason != input.LabelsOff ||
			f.What != "Node-label-based scheduling is disabled. Please check yarn.node-labels.enabled" {
			t.Errorf("%T: %v", in, f)
		}
	}
}

// TestLabelCommandTwice checks that a repeated command leads to no events.
func TestLabelCommandTwice(t *testing.T) {
	w := labelWorld(t, "")
	for _, in := range []input.Input{
		&input.SetLabels{Labels: []input.Label{{Name: "z", Exclusive: true}, {Name: "z ", Exclusive: true}}},
		labelled("n1=x", "n3=y", "n2:1=y"), labelled("n2=x", "n2:1=x"), labelled("n2:1="), labelled("n2=x"),
		labelled("n1=y", "n1:1=y"),
		&input.SetLabels{Labels: []input.Label{{Name: "z"}}, Change: true}, &input.RemoveLabels{Names: []string{"z", "z"}},
	} {
		if f := w.plan(in).Refused(); f != nil || len(w.events) == 0 {
			t.Errorf("%+v: %v, %d events", in, f, len(w.events))
		}
		if _, ok := in.(*input.RemoveLabels); ok {
			continue
		}
		if f := w.plan(in).Refused(); f != nil || len(w.events) > 0 {
			t.Errorf("%+v again: %v, %d events", in, f, len(w.events))
		}
	}
	if err := w.p.st.Check(); err != nil {
		t.Fatal(err)
	}
}

// TestHostAndItsNodeManagers checks a command that labels a host and also one of its NodeManagers,
// in both orders.
func TestHostAndItsNodeManagers(t *testing.T) {
	for _, in := range []*input.LabelNodes{labelled("h=x", "h:2=y", "h:3="), labelled("h:3=", "h:2=y", "h=x")} {
		w := labelWorld(t, "")
		w.plan(labelled("h:1=y", "h:2=y"))
		w.plan(in)
		for port, want := range []string{"x", "x", "y", ""} {
			if got := w.p.st.Labels.Name(w.p.st.LabelledHosts.LabelOf(yarn.NodeID{Host: "h", Port: uint16(port)})); got != want {
				t.Errorf("%+v: h:%d has label %q, want %q", in, port, got, want)
			}
		}
	}
}

// TestNodesTellTheirLabels checks that a NodeManager sets its own label if the configuration is
// distributed.
func TestNodesTellTheirLabels(t *testing.T) {
	w := labelWorld(t, "yarn.node-labels.configuration-type=distributed")
	if f := w.plan(ofNode(labelled("n1:1=x"))).Refused(); f != nil || len(w.events) == 0 {
		t.Fatalf("heartbeat with label x: refusal %v and %d events, want none and some",
			f, len(w.events))
	}
	if n := w.p.st.Nodes.Get(w.p.st.Nodes.Find(yarn.NodeID{Host: "n1", Port: 1})); w.p.st.Labels.Name(n.Label) != "x" {
		t.Errorf("n1 has label %q, want \"x\"", w.p.st.Labels.Name(n.Label))
	}
	if _, ok := w.events[len(w.events)-1].(*event.NodesLabelled); !ok {
		t.Errorf("heartbeat with label x gave %v, want NodesLabelled as the last event",
			kindsOf(w.events))
	}
}

// TestForgottenNodesLabel checks that rmd forgets a label that a NodeManager set together with the
// node, but keeps a label that an administrator set.
func TestForgottenNodesLabel(t *testing.T) {
	for conf, left := range map[string]int{"": 1, "yarn.node-labels.configuration-type=distributed": 0} {
		w := labelWorld(t, conf)
		in, id := labelled("n1:1=x"), yarn.NodeID{Host: "n1", Port: 1}
		in.FromNode = conf != ""
		for _, in := range []input.Input{in, &input.ExpireNode{ID: id}, &input.ForgetNode{ID: id}} {
			if f := w.plan(in).Refused(); f != nil {
				t.Fatal(f)
			}
		}
		if w.p.st.Nodes.Find(id) != 0 || w.p.st.LabelledHosts.Len() != left {
			t.Errorf("%q: %d labelled hosts are left", conf, w.p.st.LabelledHosts.Len())
		}
		if err := w.p.st.Check(); err != nil {
			t.Error(err)
		}
	}
}

// TestManyLabels checks the limit of label names. Removed names count, and may be added again.
func TestManyLabels(t *testing.T) {
	w := labelWorld(t, "")
	in := &input.SetLabels{}
	for i := range input.MaxLabels - 2 {
		in.Labels = append(in.Labels, input.Label{Name: fmt.Sprintf("l%d", i)})
	}
	if f := w.plan(in).Refused(); f != nil {
		t.Fatal(f)
	}
	if f := w.plan(&input.RemoveLabels{Names: []string{"l7"}}).Refused(); f != nil {
		t.Fatal(f)
	}
	if f := w.plan(&input.SetLabels{Labels: []input.Label{{Name: "more"}}}).Refused(); f == nil ||
		f.Reason != input.TooLarge ||
		f.What != "the cluster has had 4096 labels, and 1 more would be above its limit of 4096; those that were removed count" {
		t.Errorf("label 4097: refusal %v, want code %s with the limit of 4096", f, input.TooLarge)
	}
	if f := w.plan(&input.SetLabels{Labels: []input.Label{{Name: "l7", Exclusive: true}}}).Refused(); f != nil {
		t.Error(f)
	}
}
