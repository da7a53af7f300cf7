package server

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"rmd/api"
	"rmd/config"
	"rmd/internal/job"
	"rmd/internal/portblock"
)

// TestEveryJobIsRegistered checks that each job of the table has a part of the replica that reports
// to it. Metrics, health and the pages show only those.
func TestEveryJobIsRegistered(t *testing.T) {
	dir := t.TempDir()
	ports := portblock.Open(t).TakeAll(6)
	site := "<configuration>"
	for i, key := range []string{"address", "scheduler.address", "resource-tracker.address", "admin.address"} {
		site += "<property><name>yarn.resourcemanager." + key + "</name><value>" + portblock.Loopback(ports[i]) +
			"</value></property>"
	}
	if err := os.WriteFile(filepath.Join(dir, "yarn-site.xml"), []byte(site+"</configuration>"), 0o600); err != nil {
		t.Fatal(err)
	}
	k := config.Default()
	k.ID, k.Cluster, k.Data, k.HadoopConfDir = "rm1", "prod", filepath.Join(t.TempDir(), "data"), dir
	k.Raft.Listen, k.HTTP.Listen = portblock.Loopback(ports[4]), portblock.Loopback(ports[5])
	r, err := Open(Options{Config: k, Version: "test", Logger: hclog.NewNullLogger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	jobs := consensus{r}.Jobs()
	for _, k := range job.Table {
		if !slices.ContainsFunc(jobs, func(j api.Job) bool { return j.Name == string(k.Name) }) {
			t.Errorf("nothing reports to the job %s", k.Name)
		}
	}
	r.Reloaded(errors.New("rmd.yaml:3: unknown key"))
	if p := r.jobs.Problem(); !strings.Contains(p,
		"reload: cannot read the configuration again: rmd.yaml:3: unknown key") {
		t.Errorf("after a reload that failed the problem is %q", p)
	}
	r.Reloaded(nil)
	if p := r.jobs.Problem(); p != "" {
		t.Errorf("after a good one it is %q", p)
	}
}
