package hadoopconf

import "strings"

// List splits a value at commas, and drops spaces and empty items.
func List(text string) []string {
	var out []string
	for _, s := range strings.Split(text, ",") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}
