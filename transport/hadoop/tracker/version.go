package tracker

import (
	"cmp"
	"strings"
)

// versionParts splits a version at dots, at dashes, and between digits and letters, as Maven does.
// "3.4.2-SNAPSHOT" becomes 3, 4, 2, snapshot.
func versionParts(v string) []string {
	var parts []string
	start := 0
	v = strings.ToLower(strings.TrimSpace(v))
	for i := range len(v) + 1 {
		split := i == len(v) || v[i] == '.' || v[i] == '-'
		if !split && (i == start || digit(v[i]) == digit(v[i-1])) {
			continue
		}
		if part := v[start:i]; part != "" {
			parts = append(parts, part)
		} else if i < len(v) {
			parts = append(parts, "0")
		}
		if start = i; split {
			start++
		}
	}
	return parts
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// rank orders parts of different kinds: a qualifier of a pre-release, nothing, a service pack, an
// unknown word, a number.
func rank(part string) int {
	switch part {
	case "alpha", "a":
		return -5
	case "beta", "b":
		return -4
	case "milestone", "m":
		return -3
	case "rc", "cr":
		return -2
	case "snapshot":
		return -1
	case "", "ga", "final":
		return 0
	case "sp":
		return 1
	}
	if !digit(part[0]) {
		return 2
	}
	if strings.Trim(part, "0") == "" {
		return 0 // 3.4.0 is 3.4
	}
	return 3
}

// compareVersions orders two versions as YARN does (by Maven's rules).
func compareVersions(a, b string) int {
	x, y := versionParts(a), versionParts(b)
	for i := range max(len(x), len(y)) {
		if c := compareParts(part(x, i), part(y, i)); c != 0 {
			return c
		}
	}
	return 0
}

func part(parts []string, i int) string {
	if i < len(parts) {
		return parts[i]
	}
	return ""
}

func compareParts(a, b string) int {
	if c := cmp.Compare(rank(a), rank(b)); c != 0 {
		return c
	}
	switch rank(a) {
	case 2:
		return strings.Compare(a, b)
	case 3: // numbers of any length
		a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	}
	return 0
}
