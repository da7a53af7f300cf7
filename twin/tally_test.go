package twin

import (
	"strings"
	"testing"
)

// TestTallyCountsHistoriesAndSteps checks that a name counts once per history and once per step.
func TestTallyCountsHistoriesAndSteps(t *testing.T) {
	c := tally{}
	c.add([]Observation{{"intended a", "intended a", "app 1"}, nil, {"intended a", "intended b c"}})
	c.add([]Observation{{"intended a"}})
	var out strings.Builder
	c.write(&out)
	got := strings.Join(strings.Fields(out.String()), " ")
	if want := "intended difference histories steps a 2 3 b c 1 1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
