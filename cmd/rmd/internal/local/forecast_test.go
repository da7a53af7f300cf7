package local

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"rmd/api"
	"rmd/scheduler/input"
)

// TestFollowersForecast checks that the followers make the forecasts for their records, and that the
// leader leaves this to them.
func TestFollowersForecast(t *testing.T) {
	c := start(t, func(o *Options) { o.Parts.ForecastEvery = 50 * time.Millisecond })
	hold(t, c) // somebody waits
	lead := c.Leader()
	report := func(i int) (d api.ForecastReport) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			"http://"+c.Replicas[i].HTTPAddr()+"/v1/forecast", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+c.Token())
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if err := json.NewDecoder(answer.Body).Decode(&d); err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s, %v", answer.Status, err)
		}
		return d
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		do[*input.Done](t, c, lead, &input.Audit{Who: "op", Action: "look"}) // the log goes on
		if report((lead+1)%3).Open > 0 && report((lead+2)%3).Open > 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("no follower forecasts within a minute")
		}
	}
	if now := c.Leader(); now != lead {
		t.Skipf("replica %d leads now, %d did", now, lead)
	}
	if d := report(lead); d.SinceMillis != 0 {
		t.Errorf("the leader forecasts: %+v", d)
	}
}
