package verb

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"rmd/api"
)

func TestFoldKeepsToTheWidth(t *testing.T) {
	for line, want := range map[string]string{
		"short":                           "short",
		"one two three four five":         "one two three four\nfive",
		"averyveryverylongwordindeed and": "averyveryverylongwordindeed and",
	} {
		if got := Fold(line, 19); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	line := "   --addr value   REST addresses of any replicas, as a comma list, with a default that is long"
	for _, l := range strings.Split(Fold(line, HelpWidth), "\n") {
		if utf8.RuneCountInString(l) > HelpWidth {
			t.Errorf("%q is wider than %d", l, HelpWidth)
		}
	}
	if got := Fold(line, HelpWidth); !strings.Contains(got, "\n"+strings.Repeat(" ", 18)) {
		t.Errorf("%q does not go on below its column", got)
	}
}

func TestPackKeepsPartsWhole(t *testing.T) {
	if got := Pack([]string{"aaaa", "bbbb", "cccc"}, "  ", 10); got != "aaaa  bbbb\ncccc" {
		t.Errorf("pack of aaaa, bbbb, cccc into 10 columns = %q, want two parts on the first line", got)
	}
}

func TestSpanIsShort(t *testing.T) {
	for d, want := range map[time.Duration]string{time.Hour: "1h", 30 * time.Second: "30s", 90 * time.Second: "1m30s",
		2 * time.Minute: "2m"} {
		if got := (&span{d}).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestNodesAlive(t *testing.T) {
	for want, totals := range map[string]api.Totals{
		"3 of 4 nodes alive":             {Nodes: 4, UsableNodes: 3},
		"4 of 4 nodes alive, 2 draining": {Nodes: 4, UsableNodes: 4, DrainingNodes: 2},
	} {
		if got := NodesAlive(totals); got != want {
			t.Errorf("NodesAlive = %q, want %q", got, want)
		}
	}
}
