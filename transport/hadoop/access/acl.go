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
	if strings.Contains(text, "*") {
		return ACL{All: true}
	}
	users, groups, _ := strings.Cut(text, " ")
	return ACL{Users: list(users), Groups: list(groups)}
}

// Allows says whether the list names a user or one of its groups.
func (a ACL) Allows(user string, groups []string) bool {
	if a.All || slices.Contains(a.Users, user) {
		return true
	}
	return slices.ContainsFunc(groups, func(g string) bool { return slices.Contains(a.Groups, g) })
}

func list(text string) []string {
	var out []string
	for _, s := range strings.Split(text, ",") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}
