package forecaster

import (
	"os"
	"testing"

	"github.com/hashicorp/go-hclog"

	"rmd/analysis/forecast"
	"rmd/fsm/state"
)

// TestForecastsSurviveARestart checks that a saved record is read again, and that a damaged one is
// dropped.
func TestForecastsSurviveARestart(t *testing.T) {
	f := New(Config{Data: t.TempDir(), Logger: hclog.NewNullLogger()})
	if f.load() != nil {
		t.Error("there is a record before the first is saved")
	}
	f.keeper = forecast.NewKeeper(state.New(), 9, forecast.NewRecord(""), forecast.RefreshOptions())
	ask := forecast.Ask{App: 1}
	f.keeper.Record.Promise(1_000, ask, 1, 5_000)
	f.keeper.Record.Started(6_000, ask)
	f.keeper.Record.Promise(7_000, ask, 2, 5_000)
	f.save()
	back := f.load()
	if back == nil || back.Index != 9 || back.Due != 1 || back.Held != 1 || back.Waiting() != 1 ||
		back.Newest[0].Delay != 5_000 {
		t.Fatalf("read back: %+v", back)
	}
	if err := os.WriteFile(f.path(), []byte(`{"due":1,"held":2}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if f.load() != nil {
		t.Error("a damaged record is taken")
	}
	f.save()
	if back := f.load(); back == nil || back.Due != 1 {
		t.Errorf("the next one is not saved: %+v", back)
	}
}
