package httpserver

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestOpenAPIIsGenerated checks that openapi.json is what the routes and the types of their
// documents give.
func TestOpenAPIIsGenerated(t *testing.T) {
	b := newBench(t, nil)
	got := generateOpenAPI(t, b.s.mux.Routes())
	if *rewrite {
		if err := os.WriteFile(filepath.Join("v1", "openapi.json"), got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(got, goldenOpenAPI(t)) {
		t.Error("v1/openapi.json is not what the routes and the types of package api say; write it with make golden and read the diff")
	}
	if w := b.ask("GET", "/v1/openapi.json", ""); !bytes.Equal(w.Body.Bytes(), goldenOpenAPI(t)) ||
		w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("served as %s: %.200s", w.Header().Get("Content-Type"), w.Body)
	}
}

// TestOpenAPIHasEveryRoute checks that the description contains exactly the routes of rmd's own
// API.
func TestOpenAPIHasEveryRoute(t *testing.T) {
	var want []string
	for _, r := range newBench(t, nil).s.mux.Routes() {
		if described(r) {
			want = append(want, r.Method+" "+r.Pattern)
		}
	}
	slices.Sort(want)
	if got := documented(t, goldenOpenAPI(t)); !slices.Equal(got, want) {
		t.Errorf("described\n %s\nwant\n %s", strings.Join(got, "\n "), strings.Join(want, "\n "))
	}
}
