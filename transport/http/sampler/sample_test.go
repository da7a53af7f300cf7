package sampler

import (
	"encoding/hex"
	"reflect"
	"testing"

	"rmd/fsm/state"
	"rmd/yarn"
)

// filled returns a sampler with one sample of each kind, all of whose fields have a value.
func filled() *Sampler {
	s := New(step)
	h := s.all[0]
	h.began, h.kinds = start, yarn.DefaultKinds()
	h.queues.set(state.QueueSlot(1), "root", start)
	h.nodes.set(state.NodeSlot(1), nodeID(1), start+1)
	h.samples = []sample{{
		millis: start, used: 1, reserved: 2, waiting: 3, decided: 4, serving: 5, empty: 6,
		free: yarn.NewResource(7, 8), node: yarn.NewResource(9, 10),
		detail: &detail{steps: 11, queues: []queueUse{{used: 12, reserved: 13, waiting: 14}},
			nodes: []nodeUse{{used: 15, reserved: 16}}},
	}}
	s.apps.kinds = yarn.DefaultKinds()
	s.apps.of[app(1)] = &appSeries{step: 17, ended: 18, samples: []appSample{{
		millis: start, use: &appUse{used: yarn.NewResource(19, 20), reserved: yarn.NewResource(21, 22),
			pending: yarn.NewResource(23, 24)},
	}}}
	return s
}

// encodings has the file of filled, by version. The one of a version that a release has never changes.
var encodings = map[byte]string{
	1: "726d642d73616d706c65730a01016380a0a484ce6702096d656d6f72792d6d620676636f7265730200" +
		"0004726f6f7480a0a484ce6702000000026e310182a0a484ce6701ff9fa484ce67010206040a0c020e10021214010b010c0d1c010f10" +
		"0000000000000000000002096d656d6f72792d6d620676636f7265730180a0a484ce670122240180a0a484ce6700022628022a2c022e30" +
		"00479dee01",
}

// TestVersion checks that all fields of samples survive a restart, and that the version changes with
// their bytes. Otherwise a replica would read the file of an earlier program with shifted fields.
func TestVersion(t *testing.T) {
	s := filled()
	for _, v := range []any{s.all[0].samples[0], *s.apps.of[app(1)]} {
		empty(reflect.ValueOf(v), func(field string) { t.Errorf("fill %s, so that this test checks it", field) })
	}
	saved := s.Save("c")
	next := New(step)
	if err := next.Restore(saved, "c"); err != nil {
		t.Fatal(err)
	}
	if got, want := next.all[0].samples, s.all[0].samples; !reflect.DeepEqual(got, want) {
		t.Errorf("the file has not all fields of a sample: %+v, want %+v", got, want)
	}
	if got, want := next.apps.of, s.apps.of; !reflect.DeepEqual(got, want) {
		t.Errorf("the file has not all fields of an application's sample: %+v, want %+v", got, want)
	}
	if got, want := hex.EncodeToString(saved), encodings[version]; got != want {
		t.Errorf("version %d is\n%s, want\n%s\nIf a release has this version, raise it, and add its encoding here",
			version, got, want)
	}
}

// empty calls f for each field below a value that has its zero value.
func empty(v reflect.Value, f func(field string)) {
	switch v.Kind() {
	case reflect.Pointer:
		empty(v.Elem(), f)
	case reflect.Slice:
		for i := range v.Len() {
			empty(v.Index(i), f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				f(v.Type().String() + "." + v.Type().Field(i).Name)
				continue
			}
			empty(v.Field(i), f)
		}
	}
}
