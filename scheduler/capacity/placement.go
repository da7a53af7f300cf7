package capacity

import (
	"fmt"
	"slices"

	"rmd/scheduler/placement"
)

// Keys of JSON rules. RulesKey has the contents of the file that RulesFileKey names: the replica or
// command that reads the Hadoop files puts them there, so that every replica has them.
const (
	RulesFormatKey = Prefix + "mapping-rule-format"
	RulesKey       = Prefix + "mapping-rule-json"
	RulesFileKey   = Prefix + "mapping-rule-json-file"
)

const (
	mappingsKey  = Prefix + "queue-mappings"
	overrideKey  = Prefix + "queue-mappings-override.enable"
	placementKey = "yarn.scheduler.queue-placement-rules"
	appNamesKey  = placementKey + ".app-name"
)

// tree is the queue tree of a configuration as placement rules see it.
type tree struct{ c *Config }

func (t tree) Find(pathOrName string) (placement.Queue, bool) {
	i, err := t.c.Lookup(pathOrName)
	if err != nil {
		return placement.Queue{}, false
	}
	return placement.Queue{Path: t.c.Queues[i].Path, Leaf: t.c.Queues[i].Leaf}, true
}

func (t tree) Ambiguous(name string) bool { return name != "root" && len(t.c.byName[name]) > 1 }

// Place runs the placement rules for a submission.
func (c *Config) Place(s placement.Submission) placement.Result { return c.Placement.Place(tree{c}, s) }

// readPlacement reads the placement rules and checks that their queues can exist.
func (r *reader) readPlacement(c *Config) {
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
	}
	if r.mappingRulesRun() {
		c.Placement.List = list
	}
}

// mappingRulesRun says whether yarn.scheduler.queue-placement-rules names the mapping rules; if it is
// not set, they run. Other rules are Java classes.
func (r *reader) mappingRulesRun() bool {
	var seen []string
	run := !r.set(placementKey)
	for _, n := range r.names(placementKey) {
		switch {
		case slices.Contains(seen, n):
			r.ruleFault(placementKey, fmt.Sprintf("names %q twice", clip(n)), "name each rule once")
		case n == "user-group", n == "app-name":
			run = true
		default:
			r.ignore(placementKey, fmt.Sprintf("%q is a Java class; write mapping rules instead", clip(n)))
		}
		seen = append(seen, n)
	}
	return run
}

// ruleFault refuses a configuration because of its placement rules. One that is stored was once taken,
// perhaps by a version that had fewer rules; it is kept, and its rule falls back or never matches.
func (r *reader) ruleFault(name, what, do string) {
	if r.stored {
		r.warn(name, what, do)
		return
	}
	r.fault(name, what, do)
}
