package yarn

import "testing"

func TestFormatMemory(t *testing.T) {
	for mebibytes, want := range map[int64]string{
		0: "0 GiB", 512: "512 MiB", 1024: "1 GiB", 1536: "1.5 GiB", 1152: "1.125 GiB", 15_000: "15,000 MiB",
		4915: "4,915 MiB", 12_642: "12,642 MiB", 1023: "1,023 MiB", 384 << 10: "384 GiB", 1205 << 10: "1,205 GiB",
		3 << 19: "1.5 TiB", 3_750 << 20: "3,750 TiB", -2048: "-2 GiB", 1025: "1,025 MiB", 10 << 10: "10 GiB",
		1<<20 + 1: "1,048,577 MiB", 1<<20 + 1<<9: "1,024.5 GiB",
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
