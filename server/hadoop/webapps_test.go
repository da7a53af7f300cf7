package hadoop

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
)

// TestWebApps reads from yarn-site.xml which web applications are served. One that cannot be opened
// is logged, and the others are served.
func TestWebApps(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "index.html"), []byte("page"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		keys   []string
		path   string // of the application that is served; "": none
		logged string
	}{
		{nil, "", ""},
		{[]string{"yarn.webapp.ui2.war-file-path", dir}, "", ""},
		{[]string{"yarn.webapp.ui2.enable", "true", "yarn.webapp.ui2.war-file-path", dir}, "/ui2", ""},
		{[]string{"yarn.webapp.scheduler-ui.enable", "true", "yarn.webapp.scheduler-ui.war-file-path", dir,
			"yarn.webapp.ui2.enable", "true"}, "/scheduler-ui", "set yarn.webapp.ui2.war-file-path"},
		{[]string{"yarn.webapp.ui2.enable", "true", "yarn.webapp.ui2.war-file-path", "/no/such.war"}, "", "no such file"},
	} {
		var log strings.Builder
		f := &Services{conf: parse(t, c.keys)}
		f.cfg.Logger = hclog.New(&hclog.LoggerOptions{Output: &log})
		if err := f.openWebApps(); err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		apps := f.WebApps()
		if served := len(apps) == 1 && apps[0].Has(c.path+"/"); served != (c.path != "") || len(apps) > 1 {
			t.Errorf("%q: %d applications, want %q", c.keys, len(apps), c.path)
		}
		if c.logged == "" && log.Len() > 0 || !strings.Contains(log.String(), c.logged) {
			t.Errorf("%q: logged %q, want %q", c.keys, log.String(), c.logged)
		}
	}
}

// TestWebAppsReadTheirKeys asks /conf for what the applications need to know: Hadoop's default, or the
// value of the site.
func TestWebAppsReadTheirKeys(t *testing.T) {
	const readOnly, history = "yarn.webapp.scheduler-ui.read-only.enable", "mapreduce.jobhistory.webapp.address"
	for _, c := range []struct {
		key, want string
		keys      []string
	}{
		{readOnly, "false", nil}, {readOnly, "true", []string{readOnly, "true"}},
		{history, "0.0.0.0:19888", nil}, {history, "h:1", []string{history, "h:1"}},
		{"hadoop.security.authentication", "simple", nil}, {"yarn.http.policy", "HTTP_ONLY", nil},
		{"yarn.timeline-service.reader.webapp.address", "0.0.0.0:8188", nil},
	} {
		f := &files{conf: parse(t, c.keys)}
		var got []string
		for _, s := range f.settings() {
			if s.Name == c.key {
				got = append(got, s.Value)
			}
		}
		if len(got) != 1 || got[0] != c.want {
			t.Errorf("%s of %q: %q, want %s once", c.key, c.keys, got, c.want)
		}
	}
}
