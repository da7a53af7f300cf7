package input

import "strings"

// tagPrefix is the start of a tag with the user for whom placement rules place an application.
const tagPrefix = "userid="

// TagUser returns the user of the first tag userid=NAME, or "" if there is none. As in YARN, a tag
// with a second = and text after it is ignored.
func TagUser(tags []string) string {
	for _, t := range tags {
		if !strings.HasPrefix(t, tagPrefix) {
			continue
		}
		if parts := strings.Split(strings.TrimRight(t, "="), "="); len(parts) == 2 {
			return parts[1]
		}
	}
	return ""
}
