package yarn

import "testing"

func TestQueuePath(t *testing.T) {
	for path, want := range map[string][2]string{"root": {"", "root"}, "root.a": {"root", "a"},
		"root.a.b": {"root.a", "b"}, "": {"", ""}} {
		if parent, name := ParentQueue(path), QueueName(path); parent != want[0] || name != want[1] {
			t.Errorf("%q: below %q, named %q, want %q", path, parent, name, want)
		}
	}
}
