package yarn

import (
	"encoding/json"
	"testing"
)

func TestResourceAlgebra(t *testing.T) {
	a, b := Resource{5, 3, 1}, Resource{2, 4, 1}
	for _, c := range []struct {
		name      string
		got, want Resource
	}{
		{"add", a.Add(b), Resource{7, 7, 2}},
		{"sub", a.Sub(b), Resource{3, -1, 0}},
		{"times", a.Times(-2), Resource{-10, -6, -2}},
		{"operands are left alone", a, Resource{5, 3, 1}},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
	if a.Within(b) || !b.Within(Resource{2, 4, 1, 0, 0, 1}) || !a.Sub(b).Negative() || a.Negative() || !a.Sub(a).IsZero() || a.IsZero() {
		t.Error("a predicate is wrong")
	}
}

func TestResourcePrints(t *testing.T) {
	k := Kinds{MemoryName, VCoresName, GPUName, "example.com/fpga"}
	r := Resource{4096, 2, 1, 0, 7}
	if got := r.String(); got != "4096MB 2vc +1[2] +7[4]" {
		t.Errorf("String: %q", got)
	}
	if got := k.Format(Resource{4096, 2, 1, 3}); got != "4096MB 2vc 1gpu 3fpga" {
		t.Errorf("Format: %q", got)
	}
	if k.Index("memory") != 0 || k.Index("memory-mb") != 0 || k.Index("vcores") != 1 || k.Index(GPUName) != 2 || k.Index("gpu") != -1 {
		t.Error("Index is wrong")
	}
}

func TestStatesHaveYARNsNames(t *testing.T) {
	doc, err := json.Marshal(map[string]any{"app": AppRunning, "final": FinalUndefined, "container": ContainerReleasing,
		"node": NodeDecommissioning, "queue": QueueDraining, "locality": OffSwitch, "cause": CancelOperator, "odd": NodeState(99)})
	want := `{"app":"RUNNING","cause":"OPERATOR","container":"RELEASING","final":"UNDEFINED","locality":"OFF_SWITCH","node":"DECOMMISSIONING","odd":"UNKNOWN_99","queue":"DRAINING"}`
	if err != nil || string(doc) != want {
		t.Errorf("%s, %v\nwant %s", doc, err, want)
	}
	if AppRunning.Ended() || !AppFinished.Ended() || !AppKilled.Ended() || ContainerReleasing.Live() || !ContainerRunning.Live() ||
		!NodeDecommissioning.Usable() || NodeLost.Usable() {
		t.Error("a predicate of a state is wrong")
	}
}
