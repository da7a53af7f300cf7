package yarn

import "testing"

func TestFormatMemory(t *testing.T) {
	for mebibytes, want := range map[int64]string{
		0: "0 GiB", 512: "0.5 GiB", 1024: "1 GiB", 1536: "1.5 GiB", 1152: "1.125 GiB", 15_000: "14.649 GiB",
		4915: "4.8 GiB", 12_642: "12.346 GiB", 1: "0.001 GiB", 1023: "0.9991 GiB", 1025: "1.001 GiB", 384 << 10: "384 GiB",
		471_859: "460.8 GiB", 314_572: "307.2 GiB", 3 << 19: "1,536 GiB", 3_750 << 20: "3,840,000 GiB", -2560: "-2.5 GiB",
	} {
		if got := FormatMemory(mebibytes); got != want {
			t.Errorf("%d MiB: %q, want %q", mebibytes, got, want)
		}
	}
}

// TestFormatMemoryTellsAmountsApart checks that different amounts have different texts. Otherwise a
// message could say that 14.6 GiB do not fit in 14.6 GiB.
func TestFormatMemoryTellsAmountsApart(t *testing.T) {
	seen := map[string]int64{}
	for mebibytes := int64(0); mebibytes < 4<<20; mebibytes += 7 {
		text := FormatMemory(mebibytes)
		if other, twice := seen[text]; twice {
			t.Fatalf("%d and %d MiB are both %q", mebibytes, other, text)
		}
		seen[text] = mebibytes
	}
}
