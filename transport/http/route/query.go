package route

import (
	"slices"
	"strings"

	"rmd/transport/http/problem"
)

// Words splits comma-separated lists into words in upper case. It returns nil if there are none.
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

// CheckWords returns an error if a filter has a word that is not known.
func CheckWords(field string, have map[string]bool, known []string) error {
	for w := range have { // the error may name any of several wrong words
		if !slices.Contains(known, w) {
			return problem.Invalid(field+"="+w+" is not known", "give "+strings.Join(known, ", "), w)
		}
	}
	return nil
}
