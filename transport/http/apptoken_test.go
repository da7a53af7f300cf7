package httpserver

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"rmd/api"
	"rmd/fsm/event"
)

// TestAppTokens lists the tokens of applications, with their filters and pages.
func TestAppTokens(t *testing.T) {
	b := newBench(t, nil)
	ident := []byte("\x00\x03ann\x02rm\x05oozie\x01\x8a\x01\xba\x60\xd3\x38\x00\x07\x03")
	hdfs := event.AppToken{Kind: "HDFS_DELEGATION_TOKEN", Service: "ha-hdfs:prod", Identifier: ident,
		Password: []byte(clientKey), MaxMillis: clusterTime + 604_800_000}
	kms := event.AppToken{Kind: "kms-dt", Service: "kms:1", Identifier: []byte(clientKey), Password: []byte(clientKey)}
	b.h.apply(t, &event.TokensAdded{App: 3, Tokens: []event.AppToken{hdfs}},
		&event.TokensAdded{App: 1, Tokens: []event.AppToken{hdfs, kms}, Keep: true},
		&event.TokenRenewed{Token: 1, EndMillis: clusterTime + 86_400_000, NextMillis: clusterTime + 80_000_000},
		&event.TokenCallFailed{Token: 2, NextMillis: clusterTime + 130_000, Why: "connection refused"})
	ask := func(query string) (d api.AppTokens) {
		w := b.ask(http.MethodGet, "/v1/tokens"+query, "")
		if w.Code != http.StatusOK || strings.Contains(w.Body.String(), clientKey) {
			t.Fatalf("%s: status %d: %s", query, w.Code, w.Body)
		}
		if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil {
			t.Fatal(err)
		}
		return d
	}
	all := ask("").Tokens
	if len(all) != 2 {
		t.Fatalf("%+v", all)
	}
	if k := all[0]; k.Number != 1 || k.Owner != "ann" || k.Renewer != "rm" || k.State != "kept" ||
		k.NextMillis != clusterTime+80_000_000 || k.EndMillis != clusterTime+86_400_000 ||
		k.MaxMillis != hdfs.MaxMillis || !k.Keep || k.AppCount != 2 || k.Apps[0] != app1 || k.Apps[1] != app3 {
		t.Errorf("%+v", k)
	}
	if k := all[1]; k.Owner != "" || k.State != "new" || k.Failures != 1 || k.LastError != "connection refused" ||
		k.EndMillis != 0 {
		t.Errorf("%+v", k)
	}
	for query, want := range map[string]int{"?app=" + app3: 1, "?app=" + app1: 2, "?state=new": 1, "?state=lost": 0,
		"?after=1": 1, "?limit=1": 1} {
		if got := ask(query); len(got.Tokens) != want || (got.Next == "1") != (query == "?limit=1") {
			t.Errorf("%s: %+v, want %d", query, got, want)
		}
	}
	for query, code := range map[string]int{"?state=old": http.StatusBadRequest, "?app=9": http.StatusNotFound,
		"?after=x": http.StatusBadRequest} {
		if w := b.ask(http.MethodGet, "/v1/tokens"+query, ""); w.Code != code {
			t.Errorf("%s: status %d, want %d: %s", query, w.Code, code, w.Body)
		}
	}
}
