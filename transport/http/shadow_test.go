package httpserver

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"rmd/api"
	"rmd/scheduler/input"
)

// fakeShadows records the shadow that it is asked to start.
type fakeShadows struct {
	properties []input.Property
	in         api.StartShadow
	doc        *api.Shadow
}

func (f *fakeShadows) Start(properties []input.Property, in api.StartShadow) (*api.Shadow, error) {
	f.properties, f.in = properties, in
	return f.doc, nil
}

func (f *fakeShadows) Show() *api.Shadow { return f.doc }

func (f *fakeShadows) Stop() (*api.Shadow, error) {
	return nil, &api.Error{Code: api.CodeNoShadow, Message: "none", Status: http.StatusNotFound}
}

// compared returns a report with every field set.
func compared() *api.Shadow {
	d := &api.Shadow{Replica: "rm1", State: api.ShadowApart, Text: "Apart: it goes its own way.", Name: "queues.xml",
		Changes:  []api.Change{{Kind: "set", Key: "k", New: "v"}},
		Warnings: []string{"a warning"}, BeganMillis: 1_780_000_000_000, AtMillis: 1_780_000_600_000, Index: 9, Entries: 8,
		Decided: 7, KnownEnds: 6, GuessedEnds: 5, NotFollowed: 4, BehindMillis: 600_000,
		Divergence: &api.ShadowDivergence{Index: 3, AtMillis: 1_780_000_100_000, Cluster: "ReservationMade",
			Shadow: "nothing"}}
	side := api.ShadowSide{Waits: api.ShadowWaits{Count: 10, MeanMillis: 61_000, P50Millis: 1000, P95Millis: 120_000},
		AMs: api.ShadowWaits{Count: 2, MeanMillis: 3000}, Waiting: 11, Preempted: 12, Used: 0.25,
		Guaranteed: 0.5, Owed: 0.125}
	d.Queues = []api.ShadowQueue{{Path: "root.train", Cluster: side, Shadow: side}}
	for at := d.BeganMillis; at <= d.AtMillis; at += 10_000 {
		d.Points = append(d.Points, api.ShadowPoint{AtMillis: at,
			Queues: map[string]api.ShadowPointQueue{
				"root.train": {ClusterUsed: 0.2, ShadowUsed: 0.4, ClusterWait: 1000, ShadowWait: 60_000}}})
	}
	return d
}

// TestShadow checks that a shadow's configuration may be JSON or a Hadoop file, that faulty
// requests are refused, and that a replica without shadows answers NOT_AVAILABLE.
func TestShadow(t *testing.T) {
	f := &fakeShadows{doc: compared()}
	b := newBench(t, func(c *Config) { c.Shadows = f })
	if r := b.ask("POST", "/v1/shadow",
		`{"properties":{"b":"2","a":"1"},"name":"x","behind_ms":0,"seed":7}`); r.Code != http.StatusOK ||
		len(f.properties) != 2 || f.properties[0].Name != "a" ||
		f.in.Name != "x" || f.in.BehindMillis == nil || *f.in.BehindMillis != 0 || f.in.Seed != 7 {
		t.Errorf("status %d, %+v, %+v", r.Code, f.properties, f.in)
	}
	long, _ := json.Marshal(api.StartShadow{Properties: map[string]string{"a": "1"},
		Name: "a\x1b[2J" + strings.Repeat("b", 100_000)})
	if b.ask("POST", "/v1/shadow", string(long)); len(f.in.Name) > 128 || strings.Contains(f.in.Name, "\x1b") {
		t.Errorf("the name is %q", f.in.Name)
	}
	b.fails(400, "INVALID_REQUEST", "POST", "/v1/shadow", `{"properties":{}}`)
	b.fails(400, "INVALID_REQUEST", "POST", "/v1/shadow", `{"properties":{"a":"1"},"behind_ms":-1}`)
	b.fails(400, "INVALID_REQUEST", "POST", "/v1/shadow", `{"properties":{"a":"1"},"behind_ms":86400001}`)
	b.fails(400, "UNKNOWN_FIELD", "POST", "/v1/shadow", `{"properties":{"a":"1"},"grant":true}`)
	b.fails(404, "NO_SHADOW", "DELETE", "/v1/shadow", "")
	none := newBench(t, func(c *Config) { c.Shadows = nil })
	for _, method := range []string{"GET", "POST", "DELETE"} {
		none.fails(501, "NOT_AVAILABLE", method, "/v1/shadow", "")
	}
}

// TestShadowPage checks that the page shows the report and says which values are estimates, and
// that it has a text if there is no shadow.
func TestShadowPage(t *testing.T) {
	f := &fakeShadows{doc: compared()}
	b := newBench(t, func(c *Config) { c.Shadows = f })
	for i, c := range []struct {
		doc  *api.Shadow
		says []string
	}{
		{compared(), []string{"Apart", "queues.xml", "1 key", "estimates", "ReservationMade", "root.train", "<svg",
			"guessed time: <b>5</b>", "left out: <b>4</b>", "12%", "a warning"}},
		{&api.Shadow{State: api.ShadowNone}, []string{"There is no shadow on this replica", "rmd shadow start"}},
		{&api.Shadow{State: api.ShadowEnded, Text: "Ended: it was stopped."}, []string{"Ended", "it was stopped"}},
		{nil, []string{"This replica runs no shadows"}},
	} {
		f.doc = c.doc
		r := b.ask("GET", "/ui/shadow?case="+strconv.Itoa(i), "")
		for _, want := range c.says {
			if !strings.Contains(r.Body.String(), want) {
				t.Errorf("it does not say %q", want)
			}
		}
		for _, found := range checkHTML(r.Body.String()) {
			t.Errorf("HTML of the page: %s", found)
		}
	}
}
