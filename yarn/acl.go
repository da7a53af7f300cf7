package yarn

import (
	"slices"
	"strings"
)

// ACL is a list of users and groups, or everybody.
type ACL struct {
	All    bool
	Users  []string // sorted
	Groups []string // sorted
}

// ParseACL reads a list in Hadoop's form: "user1,user2 group1,group2", "*" for everybody, " " for
// nobody. Every text is valid. A leading blank means that the list has only groups, so the caller
// must not trim s. A "*" is everybody only if all users, all groups or the whole list is "*".
//
// Source: Hadoop 3.4.2, AccessControlList.buildACL.
func ParseACL(s string) ACL {
	users, groups, _ := strings.Cut(s, " ")
	if strings.TrimSpace(users) == "*" || strings.TrimSpace(groups) == "*" {
		return ACL{All: true}
	}
	return ACL{Users: namesOf(users), Groups: namesOf(groups)}
}

// namesOf returns the names between commas and ends of lines.
func namesOf(list string) []string {
	var out []string
	for _, n := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == '\n' }) {
		if n = strings.TrimSpace(n); n != "" {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Allows reports whether the list contains a user or one of the user's groups.
func (a ACL) Allows(user string, groups ...string) bool {
	if a.All {
		return true
	}
	if _, ok := slices.BinarySearch(a.Users, user); ok {
		return true
	}
	for _, g := range groups {
		if _, ok := slices.BinarySearch(a.Groups, g); ok {
			return true
		}
	}
	return false
}

// String returns the list in Hadoop's form.
func (a ACL) String() string {
	if a.All {
		return "*"
	}
	return strings.Join(a.Users, ",") + " " + strings.Join(a.Groups, ",")
}
