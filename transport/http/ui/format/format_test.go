package format

import (
	"slices"
	"testing"

	"rmd/api"
)

// TestCellsBreakBetweenKinds checks that no separator of amounts ends a line, that the kind which a
// cell compares comes first, and that codes break after punctuation only.
func TestCellsBreakBetweenKinds(t *testing.T) {
	r := api.Resource{api.MemoryMB: 1223 << 10, api.VCores: 343, api.GPU: 26, "odd": 0}
	want := []string{"26\u00a0gpu", "1,223\u00a0GiB", "343\u00a0vc"}
	if got := Parts(r, api.GPU); !slices.Equal(got, want) {
		t.Errorf("parts %q, not %q", got, want)
	}
	if got := Parts(api.Resource{api.MemoryMB: 0}, ""); got != nil {
		t.Errorf("nothing has the parts %q", got)
	}
	if got := Cell(api.Resource{api.MemoryMB: 2048, api.VCores: 3}); got != "2\u00a0GiB <i>·\u00a0</i>3\u00a0vc" {
		t.Errorf("cell %q", got)
	}
	if got := Breaks("TOO_LITTLE"); got != "TOO_<wbr>LITTLE" {
		t.Errorf("code %q", got)
	}
	if got := Breaks("NodeLost"); got != "Node<wbr>Lost" {
		t.Errorf("event %q", got)
	}
	if got := Together("used 15.6 % of 2 vc (1,024 MiB) on sim-04:45454 at 3"); got !=
		"used 15.6\u00a0% of 2\u00a0vc (1,024\u00a0MiB) on sim-04:45454 at 3" {
		t.Errorf("sentence %q", got)
	}
	if got := Breaks("<a.B>"); got != "&lt;a.<wbr>B&gt;" {
		t.Errorf("class %q", got)
	}
}
