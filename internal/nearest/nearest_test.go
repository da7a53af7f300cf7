package nearest

import "testing"

func TestName(t *testing.T) {
	names := []string{"status", "list", "kill", "heartbeat", "priority", "top"}
	for word, want := range map[string]string{"statsu": "status", "lst": "list", "heartbeet": "heartbeat",
		"prio": "priority", "KILL": "kill", "zzzz": "", "": "",
		"foo": "", "tpo": "top", "hartbeet": "heartbeat"} {
		if got := Name(word, names); got != want {
			t.Errorf("Name(%q) = %q, want %q", word, got, want)
		}
	}
}
