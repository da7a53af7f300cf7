package access

import (
	"slices"
	"strings"
)

// ACL is a list of users and groups as Hadoop writes it: "user1,user2
// group1,group2"; "*" is everybody, a lone space nobody.
type ACL struct {
	All           bool
	Users, Groups []string
}

// ParseACL reads a list. It never fails: every text means something.
func ParseACL(text string) ACL {
	users, groups, _ := strings.Cut(text, " ")
	if anybody(users) || anybody(groups) {
		return ACL{All: true}
	}
	return ACL{Users: list(users), Groups: list(groups)}
}

// Allows says whether the list names a user or one of its groups.
func (a ACL) Allows(user string, groups []string) bool {
	if a.All || slices.Contains(a.Users, user) {
		return true
	}
	return slices.ContainsFunc(groups, func(g string) bool { return slices.Contains(a.Groups, g) })
}

// anybody says whether a part of a list is the star. A star among other letters
// is part of a name.
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
