package twin

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"rmd/scheduler/placement"
	"rmd/yarn"
)

// placementWords makes texts of rules and submissions. One in broken of their parts is invalid,
// none if broken is 0.
type placementWords struct {
	*rand.Rand
	tree *randomQueues
}

func (g *placementWords) one(list ...string) string { return list[g.IntN(len(list))] }

func (g *placementWords) isBroken(broken int) bool { return broken > 0 && g.IntN(broken) == 0 }

func (g *placementWords) name() string {
	if g.IntN(12) == 0 {
		return g.one("bob.x", "eve", "root", "x y", "é", "%user", "*", "a.b", "n%application", "root.a", "_dot_", "r", "u:x")
	}
	return g.one(placementNames...)
}

func (g *placementWords) variable() string { return g.one(placement.Variables...) }

// path returns the path of a queue, a short name, or a path with variables or faults.
func (g *placementWords) path() string {
	path, parent := g.queue(true), g.queue(false)
	switch g.IntN(12) {
	case 0:
		path = yarn.QueueName(path)
	case 1:
		path = g.variable()
	case 2, 3, 4:
		path = parent + "." + g.variable()
	case 5:
		path = parent + "." + g.variable() + "." + g.variable()
	case 6:
		path = yarn.QueueName(parent) + "." + g.variable()
	}
	switch g.IntN(100) {
	case 0:
		path += "."
	case 1:
		path = "." + path
	case 2:
		path = strings.Replace(path, ".", "..", 1)
	case 3:
		path = strings.Replace(path, ".", " . ", 1)
	case 4:
		path += "." + g.name() + "." + g.name()
	case 5:
		path += "x" + g.variable()
	case 6:
		path = "none." + path
	case 7:
		path = g.name()
	case 8:
		path += "." + g.name()
	case 9:
		path = parent
	}
	return path
}

// queue returns the path of a parent, or of a leaf, which may not exist yet below a parent that
// creates queues.
func (g *placementWords) queue(leaf bool) string {
	for {
		q := g.tree.list[g.IntN(len(g.tree.list))]
		switch {
		case q.Leaf == leaf:
			return q.Path
		case leaf && q.Flexible && g.IntN(2) == 0:
			return q.Path + "." + g.name() + "." + g.name()
		case leaf && (q.Managed || q.Flexible):
			return q.Path + "." + g.name()
		}
	}
}

func (g *placementWords) matches() string {
	if g.IntN(6) == 0 {
		return g.variable()
	}
	return g.name()
}

// listed returns a text without the characters that separate items of a list.
func (g *placementWords) listed(s string) string {
	return strings.NewReplacer(",", "", ":", "").Replace(s)
}

func (g *placementWords) mappings(n, broken int) string {
	var items []string
	for range n {
		item := g.one("u", "u", "g") + ":" + g.listed(g.matches()) + ":" + g.listed(g.path())
		if g.IntN(5) == 0 {
			item = "u:%user:" + g.listed(g.path())
		}
		if g.isBroken(broken) {
			item = g.spoilt(item)
		}
		items = append(items, item)
	}
	return g.list(items)
}

func (g *placementWords) appNames(n, broken int) string {
	var items []string
	for range n {
		item := g.listed(g.matches()) + ":" + g.listed(g.path())
		if g.isBroken(broken) {
			item = g.spoilt(item)
		}
		items = append(items, item)
	}
	return g.list(items)
}

func (g *placementWords) list(items []string) string {
	var b strings.Builder
	for _, item := range items {
		b.WriteString(item + g.one(",", ",", ", ", " ,", "\n", ",,", ",\t"))
	}
	return b.String()
}

// spoilt changes an item of a list in a way that often makes it invalid.
func (g *placementWords) spoilt(item string) string {
	switch g.IntN(8) {
	case 0:
		return strings.Replace(item, ":", "", 1)
	case 1:
		return item + ":x"
	case 2:
		return strings.Replace(item, ":", "::", 1)
	case 3:
		return strings.Replace(item, ":", ": :", 1)
	case 4:
		return strings.Replace(item, ":", " : ", 1)
	case 5:
		return "x" + item
	case 6:
		return strings.ToUpper(item[:1]) + item[1:]
	}
	return item + ": "
}

func (g *placementWords) rules(n, broken int) string {
	var rules []string
	for range n {
		policy := g.one(policyNames...)
		fields := []string{field("type", g.one("user", "user", "group", "application")), field("policy", policy)}
		matches := g.matches()
		switch {
		case fields[0] == field("type", "user") && g.IntN(2) == 0:
			matches = "*"
		case matches == "*":
			matches = "a"
		}
		fields = append(fields, field("matches", matches))
		if policy == "custom" || g.IntN(8) == 0 {
			fields = append(fields, field("customPlacement", g.path()))
		}
		if policy == "setDefaultQueue" || g.IntN(8) == 0 {
			fields = append(fields, field("value", g.path()))
		}
		if g.IntN(2) == 0 {
			fields = append(fields, field("parentQueue", g.path()))
		}
		if g.IntN(2) == 0 {
			fields = append(fields, field("fallbackResult", g.one("skip", "reject", "placeDefault")))
		}
		if g.IntN(2) == 0 {
			fields = append(fields, `"create":`+g.one("true", "false", `"true"`, `"false"`, "null", "1", "0", `""`))
		}
		if g.isBroken(broken) {
			i := g.IntN(len(fields))
			key, _, _ := strings.Cut(fields[i], ":")
			fields[i] = key + ":" + g.one("null", "1", "true", "[]", "{}", `""`, `"none"`, "1.5", `["a"]`, `"User"`, `"*"`,
				`" true"`, "-3")
		}
		if g.isBroken(broken) {
			fields = slices.Delete(fields, 0, 1)
		}
		g.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
		rules = append(rules, "{"+strings.Join(fields, ",")+"}")
	}
	text := `{"rules":[` + strings.Join(rules, ", ") + "]}"
	if g.isBroken(2 * broken) {
		at := g.IntN(len(text))
		return text[:at] + g.one("", "}", "]", ",", `"`, "null", " ") + text[min(at+g.IntN(3), len(text)):]
	}
	return text
}

func field(key, value string) string { return strconv.Quote(key) + ":" + strconv.Quote(value) }
