package diff

import (
	"slices"
	"strings"
	"testing"

	"rmd/scheduler/capacity"
)

func TestDiff(t *testing.T) {
	old := parse(t,
		"root.queues = a,b\nroot.a.capacity = 40\nroot.b.capacity = 60\nroot.a.maximum-capacity = 50\nmaximum-applications = 5")
	new := parse(t,
		"root.queues = a,c\nroot.a.capacity = 30\nroot.c.capacity = 70\nnode-locality-delay = 3\nmaximum-applications = 5")
	var got []string
	for _, c := range Of(old, new) {
		got = append(got, c.Queue+"|"+strings.ReplaceAll(c.String(), capacity.Prefix, ""))
	}
	want := []string{
		"root.b|- queue root.b",
		"root.c|+ queue root.c",
		"|+ node-locality-delay = 3",
		"root.a|~ root.a.capacity: 40 -> 30",
		"root.a|- root.a.maximum-capacity = 50",
		"root.b|- root.b.capacity = 60",
		"root.c|+ root.c.capacity = 70",
		"root|~ root.queues: a,b -> a,c",
	}
	if !slices.Equal(got, want) {
		t.Errorf("diff:\n%s", strings.Join(got, "\n"))
	}
	if d := Of(old, old); len(d) != 0 {
		t.Errorf("a configuration differs from itself: %v", d)
	}
	if d := Of(nil, old); len(d) != 3+5 || d[0].Kind != QueueAdded || d[3].Kind != KeySet {
		t.Errorf("from nothing: %v", d)
	}
}

// parse parses "key = value" lines without the prefix of keys.
func parse(t *testing.T, text string) *capacity.Config {
	t.Helper()
	var list []capacity.Property
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, "=")
		list = append(list, capacity.Property{Name: capacity.Prefix + strings.TrimSpace(name),
			Value: strings.TrimSpace(value)})
	}
	c, err := capacity.Parse(list)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
