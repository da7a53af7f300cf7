package replica

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rmd/api"
	"rmd/cmd/rmd/internal/command/conf"
	"rmd/internal/hadoopconf"
	"rmd/scheduler/capacity"
)

// TestEffectsOfKeys checks that a directory of Hadoop's files is judged by the effects of the keys
// that rmd does not honor, and that no replica starts with a fatal one.
func TestEffectsOfKeys(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("<configuration>"+text+"</configuration>"),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	property := func(name, value string) string {
		return "<property><name>" + name + "</name><value>" + value + "</value></property>"
	}
	write("capacity-scheduler.xml", property("yarn.scheduler.capacity.root.queues",
		"a")+property("yarn.scheduler.capacity.root.a.capacity", "100")+
		property("yarn.scheduler.capacity.lazy-preemption-enabled",
			"true")+property("yarn.scheduler.capacity.schedule-asynchronously.enable", "true"))
	for _, class := range []string{"fair.FairScheduler", "fifo.FifoScheduler", "capacity.CapacityScheduler"} {
		write("yarn-site.xml", property("yarn.resourcemanager.scheduler.class",
			"org.apache.hadoop.yarn.server.resourcemanager.scheduler."+class)+
			property("yarn.resourcemanager.zk-address", "zk1")+property("yarn.federation.enabled", "true"))
		v, err := conf.JudgeHere(dir)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := conf.WriteValidation(&b, dir, v); err != nil {
			t.Fatal(err)
		}
		conf, err := hadoopconf.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for name, effect := range map[string]string{"lazy-preemption-enabled": "visible",
			"schedule-asynchronously.enable": "harmless"} {
			if !slices.ContainsFunc(v.Ignored, func(
				f api.Fault) bool {
				return f.Name == capacity.Prefix+name && f.Effect == effect
			}) {
				t.Errorf("%s is not %s: %+v", name, effect, v.Ignored)
			}
		}
		good, starts := class == "capacity.CapacityScheduler", checkFatalKeys(conf) == nil
		if v.Valid != good || starts != good || strings.Contains(b.String(), "fatal") == good ||
			!strings.Contains(b.String(), "harmless") || !strings.Contains(b.String(), "visible") {
			t.Errorf("%s: valid %v, starts %v:\n%s", class, v.Valid, starts, b.String())
		}
	}
}
