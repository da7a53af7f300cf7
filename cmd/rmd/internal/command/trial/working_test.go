package trial

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rmd/workload"
)

// TestWorkingSaysForHowLong checks that a long request is seen to work, and that a short one is not
// seen at all.
func TestWorkingSaysForHowLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for took, want := range map[time.Duration]string{500 * time.Millisecond: "",
			2500 * time.Millisecond: "it runs, 2s so far"} {
			var b bytes.Buffer
			done := working(&b, "it runs")
			time.Sleep(took)
			done()
			if got := b.String(); !strings.Contains(got, want) || (got == "") != (want == "") ||
				want != "" && !strings.HasSuffix(got, "\r\x1b[K") {
				t.Errorf("after %s: %q, want %q and then an empty line", took, got, want)
			}
		}
	})
}

// TestProgressInLines checks that runs whose messages go to a file say every 10 s how far they are.
func TestProgressInLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		b := &replayBar{out: &out, total: 1192, said: time.Now()}
		for second := range 25 {
			b.show([]string{"", "without"}[second/20], workload.Progress{Finished: int64(second), Failed: 1})
			time.Sleep(time.Second)
		}
		if got := out.String(); got != "replaying: 11 of 1192 applications\nwithout: 21 of 1192 applications\n" {
			t.Errorf("lines of 25 s: %q, want one for each 10 s", got)
		}
		b.end()
	})
}
