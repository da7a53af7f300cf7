package replay

import (
	"reflect"
	"testing"

	"rmd/workload/trace"
)

// TestMeasureForecasts replays the demo trace. It checks that nine in ten starts are in their
// intervals, that the error is half of that with declared limits, and that equal options give equal
// results.
func TestMeasureForecasts(t *testing.T) {
	tr, err := trace.Read(trace.Demo, trace.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	nodes, _, err := NodesFor("", trace.Demo, tr)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Trace: tr, Nodes: nodes, Scheduling: "eager", AM: true, Seed: 1}
	methods, err := MeasureForecasts(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ours, declared := methods[0], methods[1]
	if ours.Made < 100 || ours.Held < 0.85 || ours.Held > 0.95 || 2*ours.ErrorP50Millis > declared.ErrorP50Millis {
		t.Errorf("%+v; with declared limits: %+v", ours, declared)
	}
	again, err := MeasureForecasts(t.Context(), o)
	if err != nil || !reflect.DeepEqual(again, methods) {
		t.Errorf("once more: %+v, %v", again, err)
	}
}

// TestMeasureForecastsOfDeepLines replays a trace in which lines are deep, and checks that nearly
// every request gets a forecast and that forecasts are good there, too. The trace is one burst, of
// which fewer than nine in ten intervals hold.
func TestMeasureForecastsOfDeepLines(t *testing.T) {
	options := trace.DefaultOptions()
	options.Seed, options.Limit, options.Load = 1, 1000, 2
	tr, err := trace.Read(trace.GoogleLike, options)
	if err != nil {
		t.Fatal(err)
	}
	methods, err := MeasureForecasts(t.Context(),
		Options{Trace: tr, Nodes: tr.Nodes, Scheduling: "eager", AM: true, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	ours, declared := methods[0], methods[1]
	if ours.Deepest <= 20 || ours.Answered() < 0.95 || ours.Held < 0.75 || ours.WidthOfWait > 4 ||
		2*ours.ErrorP50Millis > declared.ErrorP50Millis {
		t.Errorf("%+v; with declared limits: %+v", ours, declared)
	}
}
