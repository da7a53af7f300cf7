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

// Agrees reports whether the printed lines agree with the guide, apart from varying texts and from where a
// line breaks, which depends on how long they are. A line "…" in the guide matches any lines, and "…"
// within a line any text of a line.
func Agrees(shown, printed []string) bool {
	var want strings.Builder
	for _, line := range shown {
		if strings.TrimSpace(line) == gap {
			want.WriteString(`(.*\n)*`)
			continue
		}
		parts := strings.Split(regexp.QuoteMeta(fixed(line)), gap)
		for i, p := range parts {
			parts[i] = strings.ReplaceAll(strings.TrimSpace(p), " ", `\s`)
		}
		want.WriteString(strings.Join(parts, " ?.* ?") + `\s`)
	}
	var got strings.Builder
	for _, line := range printed {
		got.WriteString(fixed(line) + "\n")
	}
	return regexp.MustCompile("^" + want.String() + "$").MatchString(got.String())
}

// textLines splits the output of a command. It ignores empty lines at the end.
func textLines(text string) []string {
	text = strings.TrimRight(text, "\n \t")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
