package access

import (
	"slices"
	"strings"
)

// ACL is a list of users and groups in Hadoop's format "user1,user2 group1,group2". "*" means
// everybody, and " " means nobody.
type ACL struct {
	All           bool
	Users, Groups []string
}

// ParseACL parses a list. Every text is valid.
func ParseACL(text string) ACL {
	users, groups, _ := strings.Cut(text, " ")
	if anybody(users) || anybody(groups) {
		return ACL{All: true}
	}
	return ACL{Users: list(users), Groups: list(groups)}
}

// Allows reports whether the list contains a user or one of the user's groups.
func (a ACL) Allows(user string, groups []string) bool {
	if a.All || slices.Contains(a.Users, user) {
		return true
	}
	return slices.ContainsFunc(groups, func(g string) bool { return slices.Contains(a.Groups, g) })
}

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
