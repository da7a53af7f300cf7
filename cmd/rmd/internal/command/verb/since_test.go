package verb

import (
	"testing"
	"time"

	"rmd/cmd/internal/clierr"
	"rmd/internal/exitcode"
)

func TestParseSince(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 30, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"10m": now.Add(-10 * time.Minute), "90": now.Add(-90 * time.Second), "12:00": now.Add(-30 * time.Minute),
		"13:00":    now.Add(-23*time.Hour - 30*time.Minute),
		"12:00:05": time.Date(2026, 3, 4, 12, 0, 5, 0, time.UTC), "2026-03-01": time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
		"2026-03-04T12:00:00Z": now.Add(-30 * time.Minute),
		"2026-03-04 11:59":     time.Date(2026, 3, 4, 11, 59, 0, 0, time.UTC),
	} {
		if got, err := ParseSince("--since", text, now); err != nil || got != want.UnixMilli() {
			t.Errorf("%s: %v %v, want %v", text, time.UnixMilli(got).UTC(), err, want)
		}
	}
	for _, text := range []string{"tomorrow", "2027-01-01", "-5m", "25:00"} {
		if got, err := ParseSince("--since", text, now); err == nil || clierr.Code(err) != exitcode.Usage {
			t.Errorf("parseSince(%q) = %d, %v; want an error with exit code %d", text, got, err, exitcode.Usage)
		}
	}
}
