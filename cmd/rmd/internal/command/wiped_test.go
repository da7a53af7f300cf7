package command

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"rmd/api"
)

// TestWipedReplica checks that the status of a cluster says how a member comes back that runs without
// data. The others only see that they do not reach it.
func TestWipedReplica(t *testing.T) {
	says := func(h api.Health, d api.Cluster) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			var doc any = d
			if strings.HasSuffix(r.URL.Path, "/health") {
				doc = h
			}
			_ = json.NewEncoder(w).Encode(doc)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	d := api.Cluster{Leader: "rm1", Verdict: api.Verdict{Status: "degraded"},
		Members: []api.Member{{ID: "rm1", State: "alive"}, {ID: "rm3", State: "unreachable"}}}
	lead := says(api.Health{ID: "rm1", Role: "leader", Status: "ok"}, d)
	wiped := says(api.Health{ID: "rm3", Status: api.CodeNotInitialized}, api.Cluster{})
	stranger := says(api.Health{ID: "rm9", Status: api.CodeNotInitialized}, api.Cluster{})
	r := rmd(t, map[string]string{"RMD_ADDR": strings.Join([]string{wiped, stranger, lead}, ",")}, "cluster", "status")
	if r.exit != 0 || !strings.Contains(r.out, "rm3 runs without data: mount its disk") ||
		strings.Contains(r.out, "rm9") {
		t.Errorf("cluster status: %+v", r)
	}
	d.Leader = ""
	r = rmd(t, map[string]string{"RMD_ADDR": wiped + "," + says(api.Health{ID: "rm1", Role: "follower", Status: "ok"}, d)},
		"cluster", "status")
	if strings.Contains(r.out, "without data") {
		t.Errorf("without a leader the data may be nowhere else: %+v", r)
	}
}

// TestRemoveNamesFiles checks that the removal of a replica says how the files of "rmd init" follow.
func TestRemoveNamesFiles(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(api.MemberChange{})
	}))
	defer s.Close()
	for flag, hint := range map[string]bool{"--yes": true, "--dry-run": false} {
		r := rmd(t, map[string]string{"RMD_ADDR": s.URL}, "cluster", "remove", "rm4", flag)
		if r.exit != 0 || strings.Contains(r.err, "rmd init --dir DIR --remove rm4\n") != hint {
			t.Errorf("%s: %+v", flag, r)
		}
	}
}
