package report

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func TestSpreadOf(t *testing.T) {
	for _, c := range []struct {
		values          []float64
		mean, deviation float64
	}{
		{nil, 0, 0}, {[]float64{7}, 7, 0}, {[]float64{2, 4, 4, 4, 5, 5, 7, 9}, 5, math.Sqrt(32.0 / 7)},
	} {
		if s := SpreadOf(c.values); math.Abs(s.Mean-c.mean) > 1e-9 || math.Abs(s.Deviation-c.deviation) > 1e-9 {
			t.Errorf("%v: %+v, want %v ± %v", c.values, s, c.mean, c.deviation)
		}
	}
}

func TestWriteBackfill(t *testing.T) {
	run := func(large, small float64, lent int) BackfillRun {
		return BackfillRun{Lent: lent, Ended: 1, Wanted: 0.01, AMMeanMillis: 2000,
			Summary: &Summary{Large: Waits{MeanMillis: large, P95Millis: 3_600_000}, Small: Waits{MeanMillis: small},
				ReservedIdle: Shares{Dominant: 0.054}, Utilization: Shares{GPUs: 0.5}}}
	}
	one := []Backfill{{Name: "off", Copies: []BackfillRun{run(840_000, 29_000, 0)}}}
	for _, c := range []struct {
		all  []Backfill
		want string
	}{
		{one, `
     LARGE WAIT  SMALL WAIT  AM WAIT  RESERVED IDLE  WANTED  GPUS USED  LENT  RECALLED  ENDED
off  14m         29s         2s       5.4%           1.0%    50%        0     0         1
`},
		{append(one, Backfill{Name: "declared", Copies: []BackfillRun{run(600_000, 10_000, 4), run(1_200_000, 14_000, 8)}}), `
          LARGE WAIT   SMALL WAIT  AM WAIT  RESERVED IDLE  WANTED     GPUS USED  LENT   RECALLED  ENDED
off       14m          29s         2s       5.4%           1.0%       50%        0      0         1
declared  15m ± 7m04s  12s ± 2.8s  2s ± 0s  5.4% ± 0%      1.0% ± 0%  50% ± 0%   6 ± 3  0 ± 0     1 ± 0
`},
	} {
		var b bytes.Buffer
		if err := WriteBackfillText(&b, c.all); err != nil || b.String() != strings.TrimPrefix(c.want, "\n") {
			t.Errorf("%v:\n%s\nwant%s", err, b.String(), c.want)
		}
	}
	var b bytes.Buffer
	if err := WriteBackfillJSON(&b, one); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Settings []struct {
			Name    string
			Figures map[string]Spread
			Copies  []BackfillRun
		}
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil || len(doc.Settings) != 1 {
		t.Fatalf("WriteBackfillJSON: %d settings, decoding: %v, want 1 setting; written: %s",
			len(doc.Settings), err, b.String())
	}
	if s := doc.Settings[0]; s.Name != "off" || s.Figures["small_mean_ms"].Mean != 29_000 ||
		len(s.Figures) != len(backfillColumns) || s.Copies[0].Summary.Large.MeanMillis != 840_000 {
		t.Errorf("setting %q: %d figures, small_mean_ms %v, copies %+v; want \"off\", %d figures, "+
			"small_mean_ms 29000, a mean wait of large asks of 840000 ms",
			s.Name, len(s.Figures), s.Figures["small_mean_ms"].Mean, s.Copies, len(backfillColumns))
	}
}
