package hadoopconf

import "strings"

// List splits a value at commas. It trims the items and drops empty ones.
func List(text string) []string {
	var out []string
	for _, s := range strings.Split(text, ",") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}
