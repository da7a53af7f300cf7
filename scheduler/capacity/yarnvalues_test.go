package capacity

import (
	"strings"
	"testing"
)

// TestValuesThatYARNAccepts has values that Hadoop 3.4.2 loads and rmd refuses, each with a message
// that names the key, and values that only rmd loads. docs/design/differences-from-yarn.md has the
// reasons.
func TestValuesThatYARNAccepts(t *testing.T) {
	const queue, cluster = "yarn.scheduler.capacity.root.a.", "yarn.scheduler.capacity."
	for _, c := range []struct {
		name, value string
		loads       bool
	}{
		{queue + "maximum-capacity", "120", false},
		{queue + "maximum-capacity", "-5", false},
		{queue + "user-limit-factor", "-3", false},
		{queue + "maximum-applications", "-5", false},
		{queue + "max-parallel-apps", "-7", false},
		{queue + "maximum-allocation-mb", "512", false},
		{queue + "disable_preemption", "yes", false},
		{cluster + "per-node-heartbeat.maximum-offswitch-assignments", "0", false},
		{"yarn.acl.enable", "yes", false},
		{queue + "maximum-capacity", "39", true}, // with a warning
		{queue + "capacity", "40%", true},
		{"yarn.nm.liveness-monitor.expiry-interval-ms", "10m", true},
	} {
		list := props(twoQueues)
		if c.name == queue+"capacity" {
			list = props(strings.Replace(twoQueues, "a.capacity = 40", "a.capacity = "+c.value, 1))
		} else {
			list = append(list, Property{Name: c.name, Value: c.value})
		}
		if _, err := Parse(list); (err == nil) != c.loads || err != nil && !strings.Contains(err.Error(), c.name) {
			t.Errorf("%s = %s: loads %v, want %v: %v", c.name, c.value, err == nil, c.loads, err)
		}
	}
}
