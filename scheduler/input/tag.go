package input

import (
	"strings"

	"rmd/yarn"
)

// tagPrefix is the start of a tag with the user for whom placement rules place an application.
const tagPrefix = "userid="

// TagUser returns the user of the first tag userid=NAME, or "" if there is none. As in YARN, a tag
// with a second = and text after it is ignored. So is
// a name that no user may have.
func TagUser(tags []string) string {
	for _, t := range tags {
		if !strings.HasPrefix(t, tagPrefix) {
			continue
		}
		if parts := strings.Split(strings.TrimRight(t, "="), "="); len(parts) == 2 && yarn.CheckUser(parts[1]) == nil {
			return parts[1]
		}
	}
	return ""
}
