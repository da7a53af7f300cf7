package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"rmd/api"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/internal/exitcode"
)

// TestPreemptOver asks a cluster without preemption what preemption would have done in its past.
// root.batch uses more than its guarantee, and root.train waits for a whole node.
func TestPreemptOver(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs a cluster")
	}
	t.Parallel()
	s := &stage{}
	t.Cleanup(s.stop)
	s.ready(t)
	if _, err := s.master("root.batch", "more",
		api.Ask{Priority: 1, Count: 9, Size: api.Resource{api.MemoryMB: 16_384, api.VCores: 4, api.GPU: 1}}); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"RMD_ADDR": s.env["RMD_ADDR"], "RMD_USER": "tester"}
	run := func(name string, d api.PreemptionPreview) (out api.PreviewRun) {
		for _, r := range d.Runs {
			if r.Name == name {
				out = r
			}
		}
		return out
	}
	var d api.PreemptionPreview
	if err := until(2*time.Minute, "containers would have been killed", func() error {
		r := rmd(t, env, "preempt", "--over", "1h", "-o", "json")
		if r.exit != 0 {
			t.Fatalf("rmd preempt --over 1h -o json: exit %d, want 0; stderr %q", r.exit, r.err)
		}
		if err := json.Unmarshal([]byte(r.out), &d); err != nil {
			t.Fatal(err)
		}
		if run(api.PreviewPlanned, d).Killed == 0 {
			return errors.New("none was")
		}
		time.Sleep(time.Second)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	off, planned := run(api.PreviewOff, d), run(api.PreviewPlanned, d)
	if len(d.Runs) != 3 || !off.Exact || off.Killed+off.Warned != 0 || off.Waiting != 1 || planned.Exact ||
		planned.Lost["yarn.io/gpu"] == 0 || planned.LostMillis == 0 {
		t.Errorf("off %+v, planned %+v", off, planned)
	}
	var out, errs bytes.Buffer
	code := runAlone(t, verb.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, OutTerminal: true, Width: 80,
		Env: func(n string) (string, bool) { v, ok := env[n]; return v, ok }}, "preempt", "--over", "1h")
	if code != 0 {
		t.Fatalf("rmd preempt --over 1h on a terminal: exit %d, want 0; stderr %q", code, errs.String())
	}
	t.Logf("\n%s", out.String())
	for line := range strings.Lines(out.String()) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, want := range []string{`With preemption: \d+ containers? killed, \d+\.\d\s+gpu-hours\s+lost`,
		`(?m)^ +OFF +PLANNED +YARN$`, `(?m)^killed containers/AMs +0/0 +[1-9]\d*/0 `, `(?m)^lost gpu-hours +0.0 `,
		`(?m)^owed, still waiting +1 `, `(?m)^root.batch +planned +[1-9]`} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("it does not say %s", want)
		}
	}
	if r := rmd(t, env, "preempt", "--over", "3h", "--until", "2h"); r.exit != exitcode.Refused ||
		!strings.Contains(r.err, "NOT_INITIALIZED") {
		t.Errorf("before the cluster was made: %+v", r)
	}
	if r := rmd(t, env, "preempt", "--dry-run"); !strings.Contains(r.out, "since the cluster began: preempted 0;") {
		t.Errorf("it was done: %+v", r)
	}
}
