package command

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"rmd/api"
)

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
