package settings

import (
	"math/big"
	"testing"

	"rmd/yarn"
)

func TestReadMaximum(t *testing.T) {
	kinds := yarn.Kinds{"memory-mb", "vcores"}
	whole := Maximum{Share: big.NewRat(1, 1)}
	for text, want := range map[string]Maximum{
		"": whole, "-1": whole, "half": whole, "60": {Share: big.NewRat(3, 5)}, " 8.5%": {Share: big.NewRat(17, 200)},
		"[memory=4Gi,vcores=4]": {Units: yarn.NewResource(4096, 4)},
		"[memory=1.5,gpus=4]":   {Units: yarn.NewResource(1, 0)},
	} {
		got := ReadMaximum(text, kinds)
		if got.Units != want.Units || (got.Share == nil) != (want.Share == nil) ||
			got.Share != nil && got.Share.Cmp(want.Share) != 0 {
			t.Errorf("ReadMaximum(%q) = %v, want %v", text, got, want)
		}
	}
}

func TestReadCapacity(t *testing.T) {
	kinds := yarn.Kinds{"memory-mb", "vcores"}
	if c := ReadCapacity("2w", kinds); c.Weight == nil || c.Weight.Cmp(big.NewRat(2, 1)) != 0 || c.Share != nil {
		t.Errorf("2w: %v", c)
	}
	if c := ReadCapacity("40%", kinds); c.Share == nil || c.Share.Cmp(big.NewRat(2, 5)) != 0 || c.Weight != nil {
		t.Errorf("40%%: %v", c)
	}
	if c := ReadCapacity("[memory=50%,vcores=2w]", kinds); c != (Capacity{}) {
		t.Errorf("mixed units: %v", c)
	}
}

func TestLastValueCounts(t *testing.T) {
	p := Properties{{Name: prefix + "root.a.priority", Value: "1"}, {Name: prefix + "root.a.priority", Value: "7"},
		{Name: prefix + "root.ordering-policy", Value: "priority-utilization"}}
	if got := p.Priority("root.a"); got != 7 {
		t.Errorf("priority %d, want 7", got)
	}
	if got := p[:2].Priority("root.a"); got != 0 {
		t.Errorf("without the ordering policy: priority %d, want 0", got)
	}
}
