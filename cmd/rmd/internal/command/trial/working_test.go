package trial

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
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
