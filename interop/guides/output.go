package guides

import (
	"regexp"
	"strings"
)

// gap stands in a guide for lines, or for part of a line, that it does not show.
const gap = "…"

// varying is what differs between two runs of a guide: identifiers, numbers, times, who leads.
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
	{regexp.MustCompile(`\b0(B|KiB|MiB)\b`), "0B"},
	{regexp.MustCompile(`(0s)+`), "0s"},
	{regexp.MustCompile(`\(term 0, 0s\)`), "(term 0)"}, // a new leadership has no age
	{regexp.MustCompile(`\s+`), " "},
	{regexp.MustCompile(`(role yes 0 \S+) \S+`), "$1 contact"}, // a leader has none
}

func fixed(line string) string {
	for _, v := range varying {
		line = v.text.ReplaceAllString(line, v.is)
	}
	return strings.TrimSpace(line)
}

// Agrees says whether a command printed what the guide shows, but for what varies. A line "…" of the
// guide stands for any lines, and "…" within a line for any text.
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

// textLines splits what a command printed. Empty lines at the end do not count.
func textLines(text string) []string {
	text = strings.TrimRight(text, "\n \t")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
