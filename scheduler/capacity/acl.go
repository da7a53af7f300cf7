package capacity

import (
	"slices"
	"strings"
)

// ACL says who may do something: everybody, or the listed users and groups.
type ACL struct {
	All    bool
	Users  []string // sorted
	Groups []string // sorted
}

// ParseACL reads Hadoop's form: "user1,user2 group1,group2", "*" for everybody,
// " " for nobody. A leading blank means no users, only groups, so the value
// must not be trimmed before.
func ParseACL(s string) ACL {
	if strings.Contains(s, "*") && strings.Trim(s, " \t\r\n*") == "" {
		return ACL{All: true}
	}
	users, groups, _ := strings.Cut(strings.NewReplacer("\t", " ", "\n", " ", "\r", " ").Replace(s), " ")
	return ACL{Users: names(users), Groups: names(groups)}
}

func names(list string) []string {
	var out []string
	for _, n := range strings.Split(list, ",") {
		if n = strings.TrimSpace(n); n != "" {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Allows says whether the list admits a user who is in the given groups.
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

// String writes the list in Hadoop's form.
func (a ACL) String() string {
	if a.All {
		return "*"
	}
	return strings.Join(a.Users, ",") + " " + strings.Join(a.Groups, ",")
}

// MayAdminister says whether a user administers queue i: by the queue's list or
// that of any of its ancestors, or as an administrator of the cluster.
func (c *Config) MayAdminister(i int, user string, groups ...string) bool {
	if !c.ACLEnabled || c.AdminACL.Allows(user, groups...) {
		return true
	}
	for ; i >= 0; i = c.Queues[i].Parent {
		if c.Queues[i].AdministerACL.Allows(user, groups...) {
			return true
		}
	}
	return false
}

// MayChange says whether a user may make next of the configuration: the user must administer every
// queue whose keys change, the nearest existing one for a queue that is new, and the cluster for all
// other keys. It returns the first key that says no.
func (c *Config) MayChange(next *Config, user string, groups ...string) (key string, ok bool) {
	for _, name := range changedKeys(c.properties, next.properties) {
		rest, _ := strings.CutPrefix(name, Prefix)
		i, isQueue := c.byPath[longestQueue(c, rest)]
		if may := c.AdminACL.Allows(user, groups...); !may && !(isQueue && c.MayAdminister(i, user, groups...)) {
			return name, false
		}
	}
	return "", true
}

// changedKeys are the names whose values differ in two sorted lists.
func changedKeys(a, b []Property) (out []string) {
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Name < b[0].Name:
			out, a = append(out, a[0].Name), a[1:]
		case len(a) == 0 || b[0].Name < a[0].Name:
			out, b = append(out, b[0].Name), b[1:]
		default:
			if a[0].Value != b[0].Value {
				out = append(out, a[0].Name)
			}
			a, b = a[1:], b[1:]
		}
	}
	return out
}

// MaySubmit says whether a user may submit to queue i: by the submit list of
// the queue or of any ancestor, or because the user administers it.
func (c *Config) MaySubmit(i int, user string, groups ...string) bool {
	if c.MayAdminister(i, user, groups...) {
		return true
	}
	for ; i >= 0; i = c.Queues[i].Parent {
		if c.Queues[i].SubmitACL.Allows(user, groups...) {
			return true
		}
	}
	return false
}
