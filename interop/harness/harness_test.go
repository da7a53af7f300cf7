package harness

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

func TestSpread(t *testing.T) {
	var s Spread
	for i := 100; i > 0; i-- {
		s = append(s, time.Duration(i)*time.Millisecond)
	}
	if got, want := s.String(), "n 100  min 1.0  median 50.0  p99 99.0  max 100.0 ms"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := s[:3].String(), "n 3  min 98.0  median 99.0  p99 100.0  max 100.0 ms"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestDiff(t *testing.T) {
	if d := Diff("a\nb", "a\nb"); d != "" {
		t.Errorf("equal texts differ by %q", d)
	}
	if got, want := Diff("a\nb\nc", "a\nx\nc\nd"), "  a\n- b\n+ x\n  c\n+ d\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestNormal(t *testing.T) {
	c := &Cluster{Dir: "/tmp/rmd-interop-7", names: map[int]string{21005: "rm2.web", 21010: "nm1.rpc"}}
	for in, want := range map[string]string{
		"  application_1795262775769_0002 \t RUNNING":                                        "application_T_0002 RUNNING",
		"container_e03_1795262775769_0002_01_000001":                                         "container_T_0002_01_000001",
		"http://localhost:21005/proxy/application_1795262775769_0002/":                       "http://<host>:<rm.web>/proxy/application_T_0002/",
		"localhost/127.0.0.1:21010 and localhost:22999":                                      "<host>:<nm.rpc> and <host>:22999",
		"Start-Time : 1795262775558":                                                         "Start-Time : <millis>",
		"Last-Health-Update : Sat 21/Nov/26 12:06:12:873UTC":                                 "Last-Health-Update : <date>",
		"at Sat Nov 21 12:06:16 +0000 2026 it":                                               "at <date> it",
		"Aggregate Resource Allocation : 1024 MB-seconds, 4 vcore-seconds":                   "Aggregate Resource Allocation : <usage>",
		"file:/tmp/rmd-interop-7/home":                                                       "file:<dir>/home",
		"x: no\n\tat org.a.B.c(D.java:1)\n\tat java.base/x.Y.<init>(Z.java)\n\t... 3 more\n": "x: no",
	} {
		if got := c.Normal(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestNextContainer(t *testing.T) {
	m := &Master{report: t.TempDir() + "/master"}
	kill := time.Unix(100, 0)
	for _, c := range []struct {
		lines string
		want  time.Duration // 0: none
	}{
		{"99900000000 reply 99890000000 3 c1\n", 0}, // before the moment
		// probably allocated before the moment
		{"100010000000 reply 99990000000 3 c1\n", 0},
		// the later answer has no container
		{"100010000000 reply 99990000000 3 c1\n100200000000 reply 100100000000 0 -\n", 0},
		{"100400000000 reply 99990000000 1 c2\n", 400 * time.Millisecond}, // a call that was in flight at the moment
		{"100030000000 reply 100020000000 1 c2\n", 30 * time.Millisecond}, // a call after the moment
		{"100040000000 reply 100020000000 1 c2", 0},                       // an incomplete line
	} {
		if err := os.WriteFile(m.report, []byte(c.lines), 0o600); err != nil {
			t.Fatal(err)
		}
		r, ok := m.NextContainer(kill)
		if ok != (c.want != 0) || ok && r.Ended.Sub(kill) != c.want {
			t.Errorf("%q: %v %v, want %s", c.lines, r, ok, c.want)
		}
	}
}

func TestOf(t *testing.T) {
	all := []string{"container_1_0002_01_000001", "container_e02_1_0002_01_000002", "container_1_0003_01_000001"}
	if got := strings.Join(Of(all, "application_1_0002"), " "); got != all[0]+" "+all[1] {
		t.Errorf("Of(%q, application_1_0002) = %q, want the first two", all, got)
	}
}

// TestList checks that lists of Hadoop 3.4 and 3.5 are read.
func TestList(t *testing.T) {
	for text, want := range map[string]int{`{"l":[{"id":"a"},{"id":"b"}]}`: 2, `{"l":{"id":"a"}}`: 1,
		`{"l":[{"id":"a"}]}`: 1, `{}`: 0} {
		var doc struct {
			L list[TaskAttempt] `json:"l"`
		}
		if err := json.Unmarshal([]byte(text), &doc); err != nil || len(doc.L) != want || want > 0 && doc.L[0].ID != "a" {
			t.Errorf("%s: %v, %v, want %d elements", text, doc.L, err, want)
		}
	}
}
