package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWriteNodes(t *testing.T) {
	half := 0.5
	run := func(large int64, unusable *float64) NodeOrderRun {
		return NodeOrderRun{Large: Waits{Containers: 2, P95Millis: 2 * large, MeanMillis: float64(large)},
			Small:        Waits{Containers: 3, P95Millis: 9000, MeanMillis: 8000},
			AMs:          Waits{Containers: 1, P95Millis: 5000, MeanMillis: 4000},
			ReservedIdle: 0.2, Blocked: 0.0004, Variation: 0.756, Empty: 0.25, Unusable: unusable,
			StartMillis: 60_000, AppMillis: 120_000}
	}
	none := run(0, nil)
	none.Large.Containers = 0
	size := Resource{MemoryMB: 1024, VCores: 4, GPUs: 1}
	for _, c := range []struct {
		leftOut int
		orders  []NodeOrder
		want    string
	}{
		{0, []NodeOrder{{Name: "spread", Copies: []NodeOrderRun{none}}}, `
0 of 3 containers are large: by dominant share at least half of the largest
node, which has 4 vcores, 1024 MiB and 1 GPUs.

        LARGE MEAN  SMALL MEAN  AM MEAN  SMALL+AM
spread  -           8s          4s       7s

        LARGE P95  SMALL P95  AM P95  RES. IDLE
spread  -          9s         5s      20%

        BLOCKED  UNUSABLE  EMPTY  VARIATION
spread  0.04%    -         25%    0.76

        START MEAN  APP MEAN
spread  1m          2m
`},
		{7, []NodeOrder{{Name: "pack", Copies: []NodeOrderRun{run(60_000, &half), run(120_000, &half)}}}, `
applications left out because one of their containers fits no node: 7
2 of 5 containers are large: by dominant share at least half of the largest
node, which has 4 vcores, 1024 MiB and 1 GPUs.

      LARGE MEAN   SMALL MEAN  AM MEAN  SMALL+AM
pack  1m30s ± 42s  8s ± 0s     4s ± 0s  7s ± 0s

      LARGE P95   SMALL P95  AM P95   RES. IDLE
pack  3m ± 1m25s  9s ± 0s    5s ± 0s  20% ± 0%

      BLOCKED     UNUSABLE  EMPTY     VARIATION
pack  0.04% ± 0%  50% ± 0%  25% ± 0%  0.76 ± 0.00

      START MEAN  APP MEAN
pack  1m ± 0s     2m ± 0s
`},
	} {
		var b bytes.Buffer
		if err := WriteNodesText(&b, &Nodes{Largest: size, LeftOut: c.leftOut, Orders: c.orders}); err != nil ||
			b.String() != strings.TrimPrefix(c.want, "\n") {
			t.Errorf("%v:\n%s\nwant%s", err, b.String(), c.want)
		}
	}

	// Long names and long waits still fit.
	long := run(99*3600_000, &half)
	long.Small.MeanMillis, long.AMs.MeanMillis = 9.9e8, 9.9e7
	other := run(0, &half)
	var b bytes.Buffer
	if err := WriteNodesText(&b, &Nodes{Largest: size,
		Orders: []NodeOrder{{Name: "fragmentation +b", Copies: []NodeOrderRun{long, other}}}}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > lineWidth {
			t.Errorf("a line of %d characters: %s", n, line)
		}
	}

	b.Reset()
	if err := WriteNodesJSON(&b, &Nodes{Largest: size,
		Orders: []NodeOrder{{Name: "spread", Copies: []NodeOrderRun{none}},
			{Name: "pack", Copies: []NodeOrderRun{run(60_000, &half)}}}}); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		LargestNode Resource
		Orders      []struct {
			Name    string
			Figures map[string]Spread
			Copies  []NodeOrderRun
		}
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil || len(doc.Orders) != 2 || doc.LargestNode != size {
		t.Fatalf("%v: %s", err, b.String())
	}
	spread, pack := doc.Orders[0], doc.Orders[1]
	if _, known := spread.Figures["large_mean_ms"]; known || spread.Copies[0].Unusable != nil ||
		len(spread.Figures) != len(nodeColumns())-3 {
		t.Errorf("without large containers and GPUs: %+v", spread)
	}
	if pack.Name != "pack" || pack.Figures["small_and_am_mean_ms"].Mean != 7000 ||
		pack.Figures["unusable_gpus"].Mean != 0.5 || len(pack.Figures) != len(nodeColumns()) {
		t.Errorf("with them: %+v", pack)
	}
}
