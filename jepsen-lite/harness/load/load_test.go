package load

import (
	"errors"
	"testing"
	"time"

	"rmd/api"
	"rmd/jepsen-lite/history"
)

// TestRefusals checks that only answers that mean "not done" count as refusals. An unknown outcome
// is not a refusal.
func TestRefusals(t *testing.T) {
	for code, want := range map[*api.Error]bool{
		{Code: "QUEUE_STOPPED", Status: 409}: true, {Code: "NO_SUCH_APPLICATION", Status: 404}: true,
		{Code: api.CodeBusy, Status: 503}:     true,
		{Code: api.CodeNoLeader, Status: 503}: false, {Code: api.CodeTimedOut, Status: 504}: false,
		{Code: "UNKNOWN_OUTCOME", Status: 503}: false,
		{Code: api.CodeInternal, Status: 500}:  false, {Code: "SOMETHING_NEW", Status: 502}: false,
	} {
		if got, is := refusal(code); is != want || is && got != code.Code {
			t.Errorf("%s with %d: %q %v", code.Code, code.Status, got, is)
		}
	}
	if _, is := refusal(errors.New("connection reset by peer")); is {
		t.Error("a lost connection is a refusal")
	}
	for code, want := range map[string]string{"NO_SUCH_QUEUE": history.NotFound, api.CodeNotFound: history.NotFound,
		"KEY_REUSED": "KEY_REUSED", "NO": "NO"} {
		if got := codeOf(code); got != want {
			t.Errorf("%s: %q, want %q", code, got, want)
		}
	}
}

func TestGap(t *testing.T) {
	t0 := time.Now().Add(-time.Minute)
	at := func(ms int) time.Time { return t0.Add(time.Duration(ms) * time.Millisecond) }
	p := &Prober{}
	for _, ms := range []int{0, 10, 20, 320, 330, 900, 910} {
		p.acks.at = append(p.acks.at, at(ms))
	}
	for _, c := range []struct{ from, to, want int }{
		{15, 400, 570}, // a gap that begins before `to` counts to its end
		{15, 325, 300}, {25, 100, 300}, {321, 329, 10}, {0, 5, 10},
	} {
		if got := p.Gap(at(c.from), at(c.to)); got != time.Duration(c.want)*time.Millisecond {
			t.Errorf("from %d to %d: %s, want %dms", c.from, c.to, got, c.want)
		}
	}
	if got := p.Gap(at(905), at(2000)); got < 50*time.Second {
		t.Errorf("a gap that has not ended is %s", got)
	}
	if got := p.Next(at(21)); !got.Equal(at(320)) {
		t.Errorf("the next is at %s", got)
	}
	if !p.Next(at(1000)).IsZero() {
		t.Error("there is a next one behind the last")
	}
}

func TestConfigValidate(t *testing.T) {
	good := DefaultConfig()
	good.URLs = []string{"http://127.0.0.1:1"}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Config){
		"urls": func(c *Config) { c.URLs = nil }, "nodes": func(c *Config) { c.Nodes = 1 },
		"masters": func(c *Config) { c.Masters = 0 },
		"readers": func(c *Config) { c.Readers = -1 }, "beat": func(c *Config) { c.Beat = 0 },
		"patience": func(c *Config) { c.Patience = 0 },
	} {
		c := good
		change(&c)
		if c.Validate() == nil {
			t.Errorf("bad %s are taken", name)
		}
	}
}
