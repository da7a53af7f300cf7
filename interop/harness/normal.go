package harness

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// rule is a text that differs between runs, and its replacement.
type rule struct {
	find *regexp.Regexp
	with string
}

var rules = []rule{
	{regexp.MustCompile(`\b(application|job|appattempt)_\d+_`), "${1}_T_"},
	{regexp.MustCompile(`\bcontainer_(e\d+_)?\d+_`), "container_T_"},
	{regexp.MustCompile(`\b1[6-9]\d{11}\b`), "<millis>"},
	{regexp.MustCompile(`\b[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d [+-]?\w+ \d{4}`), "<date>"},
	{regexp.MustCompile(`\b[A-Z][a-z]{2} \d\d/[A-Z][a-z]{2}/\d\d [\d:]+[A-Z]*`), "<date>"},
	{regexp.MustCompile(`\b[A-Z][a-z]{2} \d\d-[A-Z][a-z]{2}-\d{4} [\d:]+(AM|PM)?\w*`), "<date>"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d([.,]\d+)?(Z|[+-]\d{4})?`), "<date>"},
	{regexp.MustCompile(`\d+ MB-seconds, \d+ vcore-seconds`), "<usage>"},
	{regexp.MustCompile(`(^|[^-.\w])\d+(\.\d+)? ?(ms|secs?|seconds|mins|hrs)\b`), "$1<span>"},
	{regexp.MustCompile(`-{4,}`), "----"},
	{regexp.MustCompile(`(\w)@[0-9a-f]{5,8}\b`), "$1@<hash>"},
	{regexp.MustCompile(`(PMem|VMem): ?\d+ MB`), "$1:<mb>"},
	{regexp.MustCompile(`VCores: ?\d+(\.\d+)?`), "VCores:<load>"},
	// Lines of a stack trace after the first.
	{regexp.MustCompile(`(?m)^\s*at [\w.$/<>]+\([^)]*\).*$\n?`), ""},
	{regexp.MustCompile(`(?m)^Caused by: .*$\n?`), ""},
	{regexp.MustCompile(`(?m)^\s*\.\.\. \d+ more\s*$\n?`), ""},
}

var (
	port   = regexp.MustCompile(`:(2[1-9]\d{3}|3[01]\d{3})\b`)
	spaces = regexp.MustCompile(`[ \t]+`)
)

// Normal makes the outputs of two clusters comparable. It replaces identifiers, times, ports,
// folders and the widths of columns with names.
func (c *Cluster) Normal(text string) string {
	text = strings.ReplaceAll(text, c.Dir, "<dir>")
	for _, r := range rules {
		text = r.find.ReplaceAllString(text, r.with)
	}
	text = port.ReplaceAllStringFunc(text, func(s string) string {
		n, err := strconv.Atoi(s[1:])
		if name, ok := c.names[n]; ok && err == nil {
			if who, what, ok := strings.Cut(name, "."); ok {
				name = strings.TrimRight(who, "0123456789") + "." + what // which process of a kind it is does not matter
			}
			return ":<" + name + ">"
		}
		return s
	})
	if host, err := os.Hostname(); err == nil {
		text = regexp.MustCompile(`\b`+regexp.QuoteMeta(host)+`\b`).ReplaceAllString(text, "<host>")
	}
	text = strings.NewReplacer("localhost/127.0.0.1", "<host>", "localhost", "<host>", "127.0.0.1", "<host>").Replace(text)
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimSpace(spaces.ReplaceAllString(line, " ")))
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// Sorted returns a text with its lines sorted, for output without a fixed order.
func Sorted(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// Diff returns the differing lines of two texts, or "" if they are equal.
func Diff(want, got string) string {
	if want == got {
		return ""
	}
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	// Longest common subsequence, from the end.
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out strings.Builder
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			fmt.Fprintln(&out, "  "+a[i])
			i, j = i+1, j+1
		case j == len(b) || (i < len(a) && common[i+1][j] >= common[i][j+1]):
			fmt.Fprintln(&out, "- "+a[i])
			i++
		default:
			fmt.Fprintln(&out, "+ "+b[j])
			j++
		}
	}
	return out.String()
}
