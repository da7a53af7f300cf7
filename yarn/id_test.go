package yarn

import (
	"cmp"
	"testing"

	"pgregory.net/rapid"
)

func TestIDsPrintAsYARN(t *testing.T) {
	app := ApplicationID{1700000000123, 7}
	for got, want := range map[string]string{
		app.String():                                    "application_1700000000123_0007",
		ApplicationID{5, 123456}.String():               "application_5_123456",
		AttemptID{app, 2}.String():                      "appattempt_1700000000123_0007_000002",
		ContainerID{app, 2, 3}.String():                 "container_1700000000123_0007_02_000003",
		ContainerID{app, 2, 17<<40 | 3}.String():        "container_e17_1700000000123_0007_02_000003",
		ContainerID{app, 123, 1<<40 | 9999999}.String(): "container_e01_1700000000123_0007_123_9999999",
		NodeID{"n1.example", 8041}.String():             "n1.example:8041",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if ContainerNumber(17, 3) != 17<<40|3 {
		t.Error("the epoch must stand above bit 40")
	}
}

func TestIDsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		app := ApplicationID{rapid.Int64Min(0).Draw(t, "ts"), rapid.Uint32().Draw(t, "seq")}
		if got, err := ParseApplicationID(app.String()); err != nil || got != app {
			t.Fatalf("%s reads back as %v, %v", app, got, err)
		}
		at := AttemptID{app, rapid.Uint32().Draw(t, "attempt")}
		if got, err := ParseAttemptID(at.String()); err != nil || got != at {
			t.Fatalf("%s reads back as %v, %v", at, got, err)
		}
		number := ContainerNumber(rapid.Uint32Max(1<<24-1).Draw(t, "epoch"), rapid.Uint64Max(1<<40-1).Draw(t, "n"))
		c := ContainerID{app, at.Attempt, number}
		if got, err := ParseContainerID(c.String()); err != nil || got != c {
			t.Fatalf("%s reads back as %v, %v", c, got, err)
		}
		n := NodeID{rapid.StringMatching(`[a-z0-9.\[\]:-]{1,20}`).Draw(t, "host"), rapid.Uint16().Draw(t, "port")}
		if got, err := ParseNodeID(n.String()); err != nil || got != n {
			t.Fatalf("%s reads back as %v, %v", n, got, err)
		}
	})
}

func TestIDsRefused(t *testing.T) {
	refuse := func(what string, parse func(string) error, all ...string) {
		for _, s := range all {
			if parse(s) == nil {
				t.Errorf("%q was taken as %s", s, what)
			}
		}
	}
	refuse("an application id", func(s string) error { _, err := ParseApplicationID(s); return err },
		"", "application", "application_", "application_1", "application_1_2_3", "app_1_2", "application_-1_2",
		"application_+1_2",
		"application_1_4294967296", "application_9223372036854775808_1", "application_1_x", "application_1_",
		"application__1", " application_1_2")
	refuse("an attempt id", func(s string) error { _, err := ParseAttemptID(s); return err },
		"", "appattempt_1_2", "application_1_2_3", "appattempt_1_2_4294967296", "appattempt_1_2_3_4", "appattempt_1_2_-3")
	refuse("a container id", func(s string) error { _, err := ParseContainerID(s); return err },
		"", "container_1_2_3", "container_1_2_3_4_5", "container_e1_2_3_4", "container_e_1_2_3_4", "container_e-1_1_2_3_4",
		"container_e16777216_1_2_3_4", "container_1_2_3_1099511627776", "container_1_2_4294967296_4", "attempt_1_2_3_4",
		"container_e17")
	refuse("a node id", func(s string) error { _, err := ParseNodeID(s); return err },
		"", "host", ":8041", "host:", "host:65536", "host:-1", "host:x")
}

func FuzzIDs(f *testing.F) {
	for _, s := range []string{"application_1_0001", "appattempt_1_0001_000001", "container_e17_1_0001_01_000001", "h:1",
		"container_e0_1_1_1_1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if v, err := ParseApplicationID(s); err == nil {
			if back, err := ParseApplicationID(v.String()); err != nil || back != v {
				t.Fatalf("%q: %v reads back as %v, %v", s, v, back, err)
			}
		}
		if v, err := ParseAttemptID(s); err == nil {
			if back, err := ParseAttemptID(v.String()); err != nil || back != v {
				t.Fatalf("%q: %v reads back as %v, %v", s, v, back, err)
			}
		}
		if v, err := ParseContainerID(s); err == nil {
			if back, err := ParseContainerID(v.String()); err != nil || back != v {
				t.Fatalf("%q: %v reads back as %v, %v", s, v, back, err)
			}
		}
		if v, err := ParseNodeID(s); err == nil {
			if back, err := ParseNodeID(v.String()); err != nil || back != v {
				t.Fatalf("%q: %v reads back as %v, %v", s, v, back, err)
			}
		}
	})
}

func TestKeysSortBySmallestPriority(t *testing.T) {
	keys := []SchedulerKey{{-1, 9}, {0, -5}, {0, 0}, {0, 3}, {1, -9}, {20, 0}}
	for i := range keys {
		for j := range keys {
			if got := keys[i].Less(keys[j]); got != (i < j) {
				t.Errorf("%v < %v is %v", keys[i], keys[j], got)
			}
		}
	}
}

func TestNodeIDsAreOrderedByHostAndPort(t *testing.T) {
	list := []NodeID{{"a", 9}, {"a", 10}, {"a.b", 1}, {"b", 0}}
	for i, x := range list {
		for k, y := range list {
			if got := x.Compare(y); got != cmp.Compare(i, k) {
				t.Errorf("%s to %s: %d", x, y, got)
			}
		}
	}
}
