//go:build interop

package bench

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// syncTime returns the median time of a synced write of 4 KiB.
func syncTime(t *testing.T) time.Duration {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "probe"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []time.Duration
	for range 200 {
		began := time.Now()
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			t.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
		all = append(all, time.Since(began))
	}
	slices.Sort(all)
	return all[len(all)/2].Round(time.Microsecond)
}

// loadAverage returns the load averages of the last 1, 5 and 15 minutes.
func loadAverage(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(b))[:3], " ")
}
