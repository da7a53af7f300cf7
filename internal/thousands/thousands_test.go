package thousands

import "testing"

func TestFormat(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 184_201: "184,201", -1_000_000: "-1,000,000",
		-100: "-100"} {
		if got := Format(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 nodes", 1: "1 node", 2000: "2,000 nodes"} {
		if got := Count(n, "node"); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
