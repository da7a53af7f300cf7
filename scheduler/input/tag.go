package input

import "strings"

// tagPrefix begins the tag that names the user to place an application for.
const tagPrefix = "userid="

// TagUser is the user that the first tag userid=NAME names; empty if none does. As in YARN a tag that
// has a further = with something behind it is passed over.
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
