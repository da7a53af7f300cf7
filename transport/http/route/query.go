package route

import (
	"slices"
	"strings"

	"rmd/transport/http/problem"
)

// Words reads a comma list of words, in upper case; nil when there are none.
func Words(values []string) map[string]bool {
	var out map[string]bool
	for _, v := range values {
		for _, w := range strings.Split(v, ",") {
			if w = strings.ToUpper(strings.TrimSpace(w)); w != "" {
				if out == nil {
					out = map[string]bool{}
				}
				out[w] = true
			}
		}
	}
	return out
}

// CheckWords checks that every word of a filter is one that exists.
func CheckWords(field string, have map[string]bool, known []string) error {
	for w := range have { // any one wrong word will do for the message
		if !slices.Contains(known, w) {
			return problem.Invalid(field+"="+w+" is not known", "give "+strings.Join(known, ", "), w)
		}
	}
	return nil
}
