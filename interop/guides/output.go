package guides

import (
	"regexp"
	"strings"
)

// gap stands for omitted lines or parts of a line in a guide.
const gap = "…"

// varying has the texts that differ between two runs of a guide: identifiers, numbers, times, and
// the leader.
var varying = []struct {
	text *regexp.Regexp
	is   string
}{
	{regexp.MustCompile(`\b(leader|follower)\b`), "role"},
	{regexp.MustCompile(`\brm\d\b`), "rm"},
	{regexp.MustCompile(`\b[0-9a-f]{4}` + gap + `[0-9a-f]{2}\b`), "digest"},
	{regexp.MustCompile(`\b[0-9a-f]{12,}\b`), "id"},
	{regexp.MustCompile(`\d[\d,.:_]*\d|\d`), "0"},
	{regexp.MustCompile(`0(ns|µs|ms|s|m|h|d)\b`), "0s"},
	{regexp.MustCompile(`\b0 (B|KiB|MiB)\b`), "0B"},
	{regexp.MustCompile(`(0s)+`), "0s"},
	{regexp.MustCompile(`\(term 0, 0s\)`), "(term 0)"}, // a new leadership has no age
	{regexp.MustCompile(`\s+`), " "},
	{regexp.MustCompile(`(role yes 0 \S+) \S+`), "$1 contact"}, // a leader has no last contact
}

func fixed(line string) string {
	for _, v := range varying {
		line = v.text.ReplaceAllString(line, v.is)
	}
	return strings.TrimSpace(line)
}

// Agrees reports whether the printed lines agree with the guide, apart from varying texts. A line
// "…" in the guide matches any lines, and "…" within a line any text.
func Agrees(shown, printed []string) bool {
	if len(shown) == 0 {
		return len(printed) == 0
	}
	if strings.TrimSpace(shown[0]) == gap {
		return Agrees(shown[1:], printed) || len(printed) > 0 && Agrees(shown, printed[1:])
	}
	return len(printed) > 0 && lineAgrees(shown[0], printed[0]) && Agrees(shown[1:], printed[1:])
}

func lineAgrees(shown, printed string) bool {
	parts := strings.Split(fixed(shown), gap)
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(strings.TrimSpace(p))
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(fixed(printed))
}

// textLines splits the output of a command. It ignores empty lines at the end.
func textLines(text string) []string {
	text = strings.TrimRight(text, "\n \t")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
