package work

import (
	"strings"
	"testing"

	"rmd/api"
)

// TestWriteForecast checks that the output shows the interval of a start and the containers that
// must end first, and the reason why an ask never starts.
func TestWriteForecast(t *testing.T) {
	var b strings.Builder
	d := api.Forecast{ID: "application_1_0001", Runs: 15, Asks: []api.ForecastAsk{
		{Size: "4 GiB", Count: 2, Priority: 1, Started: 15, FromMillis: 1_000, MedianMillis: 2_000, ToMillis: 0,
			After: []api.ForecastAfter{{Container: "container_1_0002_01_000001", Node: "n1:1", ID: "application_1_0002",
				Queue: "root.a", Runs: 12}, {ID: "application_1_0003", Queue: "root.b", Runs: 3}},
			Queues: []api.ForecastQueue{{Path: "root.a", Runs: 12}},
			Sooner: []api.ForecastSooner{{If: "its priority was 4", MedianMillis: 1_500}}},
		{Size: "4 TiB", Count: 1, Never: "no node that is running is as large"},
		{Size: "1 GiB", Count: 1, Started: 3},
	}}
	if err := writeForecast(&b, d, 0); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2 of 4 GiB at priority 1", "to later than in 7 days)",
		"container_1_0002_01_000001 on n1:1 of application_1_0002 in root.a ends (12 of 15 runs)",
		"a later container of application_1_0003 in root.b ends (3 of 15 runs)", "root.a (12 of 15 runs)",
		" if its priority was 4",
		"never: no node that is running is as large", "within 7 days in 3 of 15 runs only"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := writeForecast(&b, api.Forecast{ID: "x"}, 0); err != nil ||
		!strings.Contains(b.String(), "waits for no container") {
		t.Errorf("writeForecast without asks: %v, %q; want a text with \"waits for no container\"", err, b.String())
	}
}

// TestWriteForecastReport checks that the output shows how many intervals were correct, and says
// when there are too few.
func TestWriteForecastReport(t *testing.T) {
	var b strings.Builder
	d := api.ForecastReport{Replica: "rm1", SinceMillis: 1_000, Due: 400, Held: 360, Open: 7, Gone: 3, Recorded: true,
		Newest: api.ForecastSummary{Due: 300, Held: 273, ErrorP50Millis: 5_000}}
	if err := writeForecastReport(&b, d, 0); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"rm1", "360 of 400 intervals held, 90.0 %", "273 of 300 intervals held, 91.0 %",
		"median 5s", "7 still wait; 3 were not"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := writeForecastReport(&b, api.ForecastReport{Replica: "rm1"}, 0); err != nil ||
		!strings.Contains(b.String(), "Nothing has waited") || !strings.Contains(b.String(), "too few") {
		t.Errorf("writeForecastReport without promises: %v, %q; want a text with \"Nothing has waited\" and \"too few\"",
			err, b.String())
	}
}
