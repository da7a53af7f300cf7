package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"time"

	"rmd/api"
	"rmd/client"
)

// A program submits an application, lists the user's applications, watches the application's
// events, and kills it.
func Example() {
	replica := standIn()
	defer replica.Close()

	c, err := client.New(client.Config{Addrs: []string{replica.URL}, Timeout: 30 * time.Second, User: "ann"})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()

	app, err := c.Submit(ctx, api.Submit{Queue: "root.batch", Name: "nightly",
		AM: api.Resource{api.MemoryMB: 1024, api.VCores: 1}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("submitted", app.ID)

	for a, err := range c.Apps(ctx, url.Values{"user": {"ann"}}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(a.Name, a.State)
	}

	err = c.Watch(ctx, url.Values{"app": {app.ID}}, app.Index, func(b api.EventBatch) error {
		for _, e := range b.Events {
			fmt.Println(b.Index, e.Kind)
		}
		return client.Stop()
	}, nil)
	if err != nil {
		log.Fatal(err)
	}

	if _, err := c.Kill(ctx, app.ID, "the night is over"); err != nil {
		log.Fatal(err)
	}
	if _, err := c.App(ctx, "application_1_0099"); client.CodeOf(err) == "NO_SUCH_APPLICATION" {
		fmt.Println("forgotten:", err)
	}

	// Output:
	// submitted application_1_0007
	// nightly ACCEPTED
	// evening RUNNING
	// 13 AttemptActivated
	// forgotten: NO_SUCH_APPLICATION: application_1_0099 is not known; see "rmd app list --all"
}

// standIn returns a server that answers like a replica.
func standIn() *httptest.Server {
	answer := func(status int, doc any) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(doc)
		}
	}
	m := http.NewServeMux()
	m.Handle("POST /v1/apps", answer(201, api.Submitted{ID: "application_1_0007", Queue: "root.batch", Index: 12}))
	m.HandleFunc("GET /v1/apps", func(w http.ResponseWriter, r *http.Request) {
		d := api.Apps{Apps: []api.App{{ID: "application_1_0007", Name: "nightly", State: "ACCEPTED"}},
			Next: "application_1_0007"}
		if r.URL.Query().Get("after") != "" {
			d = api.Apps{Apps: []api.App{{ID: "application_1_0008", Name: "evening", State: "RUNNING"}}}
		}
		answer(200, d)(w, r)
	})
	m.Handle("GET /v1/apps/{id}", answer(404,
		api.Error{Code: "NO_SUCH_APPLICATION", Message: "application_1_0099 is not known",
			Remedy: `see "rmd app list --all"`}))
	m.Handle("POST /v1/apps/{verb}", answer(200, api.Done{Index: 14}))
	m.HandleFunc("GET /v1/events", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w,
			"id: 13\nevent: batch\ndata: {\"index\":13,\"term\":1,\"now_ms\":0,\"events\":[{\"kind\":\"AttemptActivated\"}]}\n\n")
	})
	return httptest.NewServer(m)
}
