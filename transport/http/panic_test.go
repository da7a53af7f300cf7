package httpserver

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/yarn"
)

// TestPanicIsAnswered checks that a handler that panics gives an error that says where to look, and
// that the log has the panic at the level that operators read.
func TestPanicIsAnswered(t *testing.T) {
	var log bytes.Buffer
	b := newBench(t, func(c *Config) {
		c.Logger = hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Error})
		c.Planner.Explain = func(*state.State, yarn.ApplicationID) (*api.Explanation, error) { panic("a fault") }
	})
	e := b.fails(500, api.CodeInternal, "GET", "/v1/apps/"+app3+"/explain", "")
	if !strings.Contains(e.Remedy, "log of this replica") {
		t.Errorf("the answer is %+v", e)
	}
	for _, want := range []string{"[ERROR]", "a fault", "/explain", "panic_test.go"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not have %q: %s", want, log.String())
		}
	}
	b.into(200, new(api.Cluster), "GET", "/v1/cluster", "")
}
