package command

import (
	"strings"
	"testing"

	"rmd/transport/http/v1/api"
)

// TestWriteForecast: a start has its interval and who must end first; what never starts has its
// reason.
func TestWriteForecast(t *testing.T) {
	var b strings.Builder
	d := api.Forecast{ID: "application_1_0001", Runs: 15, Asks: []api.ForecastAsk{
		{Size: "4 GiB", Count: 2, Priority: 1, Started: 15, FromMillis: 1_000, MedianMillis: 2_000, ToMillis: 0,
			After: []api.ForecastAfter{{ID: "application_1_0002", Queue: "root.a", Runs: 12}}},
		{Size: "4 TiB", Count: 1, Never: "no node that is running is as large"},
		{Size: "1 GiB", Count: 1, Started: 3},
	}}
	if err := writeForecast(&b, d, 0); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2 of 4 GiB at priority 1", "to later than in 7 days)", "a container of application_1_0002 in root.a ends (12 of 15 runs)",
		"never: no node that is running is as large", "within 7 days in 3 of 15 runs only"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := writeForecast(&b, api.Forecast{ID: "x"}, 0); err != nil || !strings.Contains(b.String(), "waits for no container") {
		t.Errorf("%v: %s", err, b.String())
	}
}
