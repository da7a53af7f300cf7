package access

import "strings"

// anybody reports whether a part of a list is "*". A star within a name has no special meaning.
func anybody(part string) bool { return strings.TrimSpace(part) == "*" }

func list(text string) []string {
	var out []string
	for _, s := range strings.Split(text, ",") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}
