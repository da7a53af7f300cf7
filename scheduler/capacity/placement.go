package capacity

import (
	"fmt"
	"slices"

	"rmd/internal/clip"
	"rmd/scheduler/capacity/unhonored"
	"rmd/scheduler/input"
	"rmd/scheduler/placement"
	"rmd/yarn"
)

// Keys of JSON rules. RulesKey has the contents of the file that RulesFileKey names. The replica or
// command that reads the Hadoop files sets it, so that all replicas have the rules.
const (
	RulesFormatKey = Prefix + "mapping-rule-format"
	RulesKey       = Prefix + "mapping-rule-json"
	RulesFileKey   = Prefix + "mapping-rule-json-file"
)

const (
	mappingsKey  = Prefix + "queue-mappings"
	overrideKey  = Prefix + "queue-mappings-override.enable"
	tagPrefix    = "yarn.resourcemanager.application-tag-based-placement."
	placementKey = "yarn.scheduler.queue-placement-rules"
	appNamesKey  = placementKey + ".app-name"
)

// tree implements placement.Queues for a configuration.
type tree struct{ c *Config }

func (t tree) Find(pathOrName string) (placement.Queue, bool) {
	i, err := t.c.Lookup(pathOrName)
	if err != nil {
		return placement.Queue{}, false
	}
	q := &t.c.Queues[i]
	found := placement.Queue{Path: q.Path, Leaf: q.Leaf}
	if a := q.AutoCreate; a != nil {
		found.Managed, found.Flexible = a.By == Legacy, a.By == Flexible
	}
	return found, true
}

func (t tree) Ambiguous(name string) bool { return name != "root" && len(t.c.byName[name]) > 1 }

// TagPlacement lets some users submit applications that are placed as if the user in a tag had
// submitted them.
type TagPlacement struct {
	Enabled bool
	Users   []string // the users who may submit such applications
}

// Place applies the placement rules to a submission. If the user may place applications for others
// and a tag names a user, it first applies the rules for that user. That result counts if it
// rejects the submission, or if the submitting user may submit to its queue.
func (c *Config) Place(s placement.Submission) placement.Result {
	if user := c.tagUser(s); user != "" {
		as := s
		as.User, as.Groups = user, s.TagGroups
		got := c.Placement.Place(tree{c}, as)
		got.TagUser = user
		if got.Rejected {
			return got
		}
		if got.Queue != "" && c.mayPlaceIn(got.Queue, s.User, s.Groups) {
			return got
		}
	}
	return c.Placement.Place(tree{c}, s)
}

// tagUser returns the user for whom a tag asks to place the submission, or "" if there is none or
// the submitting user may not do that.
func (c *Config) tagUser(s placement.Submission) string {
	if !c.TagPlacement.Enabled || !slices.Contains(c.TagPlacement.Users, s.User) {
		return ""
	}
	return input.TagUser(s.Tags)
}

// mayPlaceIn reports whether a user is in the submit list of a queue or of a queue above it. As in
// YARN, the lists also count if yarn.acl.enable is false, and the rights of administrators do not
// count.
func (c *Config) mayPlaceIn(path string, user string, groups []string) bool {
	i, ok := c.byPath[path]
	if !ok {
		create, err := c.Creatable(path)
		if err != nil {
			return false
		}
		for _, q := range c.Candidates(create) {
			if q.SubmitACL.Allows(user, groups...) {
				return true
			}
		}
		i = c.byPath[yarn.ParentQueue(create[0].Path)]
	}
	for ; i >= 0; i = c.Queues[i].Parent {
		if c.Queues[i].SubmitACL.Allows(user, groups...) {
			return true
		}
	}
	return false
}

func (r *reader) readTagPlacement(c *Config) {
	c.TagPlacement = TagPlacement{Enabled: r.bool(tagPrefix+"enable", false),
		Users: r.names(tagPrefix + "username.whitelist")}
}

// readPlacement reads the placement rules and checks that their queues can be used.
func (r *reader) readPlacement(c *Config) {
	r.readTagPlacement(c)
	c.Placement.Override = r.bool(overrideKey, false)
	mappings, _ := r.get(mappingsKey)
	appNames, _ := r.get(appNamesKey)
	text, _ := r.get(RulesKey)
	file, _ := r.get(RulesFileKey)
	var list []placement.Rule
	var warnings, problems []placement.Problem
	name, do := mappingsKey, "write u:user:queue or g:group:queue with an existing leaf, separated by commas"
	switch format, _ := r.get(RulesFormatKey); format {
	case "", "legacy":
		if mappings == "" {
			name = appNamesKey
		}
		list, problems = placement.ParseLegacy(mappings, appNames)
	case "json":
		name, do = RulesKey, "correct the rule; \"rmd conf validate\" checks a file"
		switch {
		case text != "":
			list, warnings, problems = placement.ParseJSON(text)
		case file != "":
			r.ruleFault(RulesFileKey, "the contents of the file are not in "+RulesKey,
				"apply the Hadoop files with \"rmd conf apply\", which reads the file, or set "+RulesKey+" to its contents")
		default:
			r.warn(RulesFormatKey, "there are no rules", "set "+RulesKey+" or "+RulesFileKey)
		}
		for _, key := range []string{mappingsKey, appNamesKey} {
			if r.set(key) {
				r.warn(key, "has no effect, since "+RulesFormatKey+" is json", "remove it, or write its rules as JSON")
			}
		}
	default:
		r.ruleFault(RulesFormatKey, "is no format of rules", "write legacy or json")
	}
	for _, w := range warnings {
		r.warn(name, w.String(), "correct the key, or remove it")
	}
	if len(problems) == 0 {
		problems = placement.Check(list, tree{c})
	}
	for _, p := range problems {
		r.ruleFault(name, p.String(), do)
		if !r.stored {
			r.faults[len(r.faults)-1].YARN = p.YARN
		}
	}
	if r.mappingRulesRun() {
		c.Placement.List = list
	}
}

// mappingRulesRun reports whether yarn.scheduler.queue-placement-rules is not set or names the
// mapping rules. Other values are Java classes.
func (r *reader) mappingRulesRun() bool {
	var seen []string
	run := !r.set(placementKey)
	for _, n := range r.names(placementKey) {
		switch {
		case slices.Contains(seen, n):
			r.ruleFault(placementKey, fmt.Sprintf("names %q twice", clip.Text(n)), "name each rule once")
		case n == "user-group", n == "app-name":
			run = true
		default:
			r.ignore(placementKey, fmt.Sprintf("%q is a Java class; write mapping rules instead", clip.Text(n)),
				unhonored.Visible)
		}
		seen = append(seen, n)
	}
	return run
}

// ruleFault adds a fault of a rule that earlier versions ignored. In a stored configuration, which
// such a version may have accepted, it is only a warning, and the rule has no effect.
func (r *reader) ruleFault(name, what, do string) {
	if r.stored {
		r.warn(name, what, do)
		return
	}
	r.fault(name, what, do)
}
