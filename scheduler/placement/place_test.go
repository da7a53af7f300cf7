package placement

import (
	"fmt"
	"strings"
	"testing"
)

// paths implements Queues for a list of the paths of all queues.
type paths []string

func (p paths) Find(name string) (Queue, bool) {
	var found []string
	for _, path := range p {
		if path == name {
			return p.queue(path), true
		}
		if short(path) == name {
			found = append(found, path)
		}
	}
	if len(found) == 1 {
		return p.queue(found[0]), true
	}
	return Queue{}, false
}

func (p paths) Ambiguous(name string) bool {
	n := 0
	for _, path := range p {
		if short(path) == name {
			n++
		}
	}
	return n > 1
}

func (p paths) queue(path string) Queue {
	for _, q := range p {
		if strings.HasPrefix(q, path+".") {
			return Queue{Path: path}
		}
	}
	return Queue{Path: path, Leaf: true}
}

func short(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

var queues = paths{"root", "root.default", "root.a", "root.users", "root.users.ann", "root.users.bob_dot_x",
	"root.users.dev", "root.teams", "root.teams.dev",
	"root.teams.ops", "root.teams.ops.ann", "root.teams.qa", "root.teams.qa.ann", "root.teams.qa.bob_dot_x", "root.apps",
	"root.apps.etl", "root.only"}

var ann = Submission{User: "ann", Groups: []string{"staff", "ops", "qa"}, Application: "etl"}

func rulesOf(t *testing.T, text string) []Rule {
	t.Helper()
	rules, warnings, problems := ParseJSON(`{"rules":[` + text + `]}`)
	if len(warnings)+len(problems) > 0 {
		t.Fatalf("ParseJSON of %s: warnings %v, problems %v, want none", text, warnings, problems)
	}
	return rules
}

// outcome formats a result as the queue or "rejected" with the number of the rule, or as "-" if no
// rule decided.
func outcome(r Result) string {
	switch {
	case r.Rejected:
		return fmt.Sprintf("rejected %d", r.Rule)
	case r.Queue == "":
		return "-"
	}
	return fmt.Sprintf("%s %d", r.Queue, r.Rule)
}

// TestPoliciesAndFallbacks checks each policy with a usable and an unusable queue and with each
// fallback. The next rule places in root.only.
func TestPoliciesAndFallbacks(t *testing.T) {
	for _, tc := range []struct {
		rule string // without type, matches and fallbackResult
		s    Submission
		want string // "" if the queue is unusable
	}{
		{`"policy":"user","parentQueue":"root.users"`, ann, "root.users.ann 1"},
		{`"policy":"user","parentQueue":"users"`, ann, "root.users.ann 1"},
		{`"policy":"user","parentQueue":"root.users"`, Submission{User: "bob.x"}, "root.users.bob_dot_x 1"},
		{`"policy":"user"`, ann, ""}, // three queues are named ann
		{`"policy":"user"`, Submission{User: "a"}, "root.a 1"},
		{`"policy":"user","parentQueue":"root.none"`, ann, ""},
		{`"policy":"user","parentQueue":"root.users"`, Submission{User: "eve"}, ""},
		{`"policy":"user","parentQueue":"root.users","create":false`, Submission{User: "eve"}, ""},
		{`"policy":"primaryGroup"`, Submission{User: "u", Groups: []string{"a"}}, "root.a 1"},
		{`"policy":"primaryGroup"`, Submission{User: "u", Groups: []string{"dev"}}, ""}, // ambiguous
		{`"policy":"primaryGroup","parentQueue":"root.teams"`, Submission{User: "u", Groups: []string{"dev"}},
			"root.teams.dev 1"},
		// a parent
		{`"policy":"primaryGroup","parentQueue":"root.teams"`, Submission{User: "u", Groups: []string{"ops"}}, ""},
		{`"policy":"primaryGroup","parentQueue":"root.teams"`, Submission{User: "u"}, ""},
		{`"policy":"primaryGroupUser","parentQueue":"root.teams"`, Submission{User: "ann", Groups: []string{"qa"}},
			"root.teams.qa.ann 1"},
		{`"policy":"primaryGroupUser"`, Submission{User: "ann", Groups: []string{"qa"}}, "root.teams.qa.ann 1"},
		{`"policy":"primaryGroupUser"`, Submission{User: "eve", Groups: []string{"qa"}}, ""},
		{`"policy":"secondaryGroup","parentQueue":"root.teams"`, Submission{User: "u", Groups: []string{"ops", "x", "dev"}},
			"root.teams.dev 1"},
		{`"policy":"secondaryGroup"`, Submission{User: "u", Groups: []string{"x", "dev", "a"}}, "root.a 1"},
		{`"policy":"secondaryGroup","parentQueue":"root.teams"`, Submission{User: "u", Groups: []string{"dev"}}, ""},
		{`"policy":"secondaryGroup","parentQueue":"root.teams"`, Submission{User: "u", Groups: []string{"dev", "dev"}}, ""},
		// the first queue found is a parent
		{`"policy":"secondaryGroup","parentQueue":"root.teams"`, Submission{User: "u", Groups: []string{"dev", "ops"}}, ""},
		{`"policy":"secondaryGroupUser","parentQueue":"root.teams"`, ann, "root.teams.ops.ann 1"},
		{`"policy":"secondaryGroupUser","parentQueue":"root.teams"`,
			Submission{User: "bob.x", Groups: []string{"s", "ops", "qa"}}, ""},
		{`"policy":"applicationName","parentQueue":"root.apps"`, ann, "root.apps.etl 1"},
		// a name may have dots
		{`"policy":"applicationName"`, Submission{User: "u", Application: "root.apps.etl"}, "root.apps.etl 1"},
		{`"policy":"applicationName","parentQueue":"root.apps"`, Submission{User: "u", Application: "x"}, ""},
		{`"policy":"applicationName","parentQueue":"root.apps"`, Submission{User: "u"}, ""},
		{`"policy":"specified"`, Submission{User: "u", Queue: "root.teams.dev"}, "root.teams.dev 1"},
		{`"policy":"specified"`, Submission{User: "u", Queue: "a"}, "root.a 1"},
		{`"policy":"specified"`, Submission{User: "u", Queue: "dev"}, ""},
		{`"policy":"specified"`, Submission{User: "u", Queue: "root.teams"}, ""},
		{`"policy":"specified"`, Submission{User: "u", Queue: "default"}, ""},
		{`"policy":"specified"`, Submission{User: "u"}, ""},
		{`"policy":"defaultQueue"`, ann, "root.default 1"},
		{`"policy":"custom","customPlacement":"root.teams.%secondary_group.%user"`, ann, "root.teams.ops.ann 1"},
		{`"policy":"custom","customPlacement":"%default"`, ann, "root.default 1"},
		{`"policy":"custom","customPlacement":"apps.%application"`, ann, "root.apps.etl 1"},
		{`"policy":"custom","customPlacement":"root.users.x%user"`, ann, ""},
		{`"policy":"custom","customPlacement":"root.a."`, ann, "root.a 1"}, // as Java's split
		{`"policy":"custom","customPlacement":""`, ann, ""},
	} {
		for fallback, other := range map[string]string{`"skip"`: "root.only 2", `null`: "root.only 2",
			`"reject"`: "rejected 1", `"placeDefault"`: "root.default 1"} {
			rules := rulesOf(t,
				fmt.Sprintf(`{"type":"user","matches":"*","fallbackResult":%s,%s},{"type":"user","matches":"*","policy":"custom","customPlacement":"only"}`, fallback, tc.rule))
			want := tc.want
			if want == "" {
				want = other
			}
			got := (&Rules{List: rules, Override: true}).Place(queues, tc.s)
			if outcome(got) != want {
				t.Errorf("%s, fallback %s, of %+v: %s, want %s", tc.rule, fallback, tc.s, outcome(got), want)
			}
			if step := got.Steps[0]; (step.Why != "") != (tc.want == "") {
				t.Errorf("%s, fallback %s: %+v", tc.rule, fallback, step)
			}
		}
	}
}

// creating is a tree with a managed parent, flexible parents, and queues that create nothing.
type creating struct{ paths }

func (c creating) Find(name string) (Queue, bool) {
	q, ok := c.paths.Find(name)
	q.Managed = q.Path == "root.managed"
	q.Flexible = q.Path == "root.flexible" || q.Path == "root.flexible.ann"
	q.Leaf = q.Leaf && !q.creates()
	return q, ok
}

// TestQueuesToCreate checks placement in queues that do not exist. A managed parent creates leaves;
// a flexible one can also create the parent of a leaf.
func TestQueuesToCreate(t *testing.T) {
	q := creating{paths{"root", "root.default", "root.managed", "root.managed.bob", "root.flexible", "root.flexible.ann",
		"root.plain", "root.plain.a", "root.x", "root.x.a"}}
	for _, tc := range []struct {
		target string
		want   string // for a rule that may create its queue; "" if the queue is unusable
		create bool
	}{
		{"root.managed.%user", "root.managed.ann 1", true},
		{"managed.%user", "root.managed.ann 1", true},
		{"root.managed.bob", "root.managed.bob 1", false},
		{"root.managed", "", false},
		{"root.managed.%primary_group.%user", "", false},
		{"root.flexible.%application", "root.flexible.etl 1", true},
		{"root.flexible.%primary_group.%user", "root.flexible.staff.ann 1", true},
		{"root.flexible.a.b.c", "", false},
		{"root.flexible.ann.x", "root.flexible.ann.x 1", true},
		{"root.flexible.ann", "", false},
		{"root.flexible.x.%secondary_group", "", false}, // no group has a queue there
		{"root.plain.b", "", false},
		{"root.plain.a.b", "", false},
		{"root.b", "", false},
		{"b.c", "", false},
		{"ann", "", false},
	} {
		for _, create := range []bool{true, false} {
			rules := rulesOf(t, fmt.Sprintf(`{"type":"user","matches":"*","policy":"custom","customPlacement":%q,"create":%t}`,
				tc.target, create))
			want := tc.want
			if want == "" || tc.create && !create {
				want = "-"
			}
			got := (&Rules{List: rules}).Place(q, ann)
			if outcome(got) != want || got.Create != (tc.create && create) {
				t.Errorf("place in %s, create %t: %+v, want %s, to create %v",
					tc.target, create, got, want, tc.create && create)
			}
			if tc.create && !create && !strings.Contains(got.Steps[0].Why, "may not create") {
				t.Errorf("place in %s: the first step says %q, want that it may not create",
					tc.target, got.Steps[0].Why)
			}
		}
		problems := Check([]Rule{{Action: Place, Target: tc.target}}, q)
		static := !strings.Contains(tc.target, "%")
		if static && (len(problems) == 0) != (tc.want != "") {
			t.Errorf("Check of the target %s: problems %v, want some: %v",
				tc.target, problems, tc.want == "")
		}
	}
	for target, ok := range map[string]bool{"root.managed.x.%user": true, "root.flexible.x.%user": true,
		"root.flexible.x.y.%user": false, "root.plain.x.%user": false} {
		if problems := Check([]Rule{{Action: Place, Target: target}}, q); (len(problems) == 0) != ok {
			t.Errorf("Check of the target %s: problems %v, want some: %v", target, problems, !ok)
		}
	}
	lost := rulesOf(t,
		`{"type":"user","matches":"*","policy":"setDefaultQueue","value":"root.managed.new"},{"type":"user","matches":"*","policy":"custom","customPlacement":"none","fallbackResult":"placeDefault"}`)
	if got := (&Rules{List: lost}).Place(q, ann); !got.Rejected {
		t.Errorf("%%default is never created: %+v", got)
	}
}

func TestMatching(t *testing.T) {
	for _, tc := range []struct {
		kind, matches string
		s             Submission
		want          bool
	}{
		{"user", "*", ann, true}, {"user", "ann", ann, true}, {"user", "an", ann, false},
		{"user", "bob.x", Submission{User: "bob.x"}, true}, {"user", "bob_dot_x", Submission{User: "bob.x"}, false},
		{"user", "%primary_group", Submission{User: "ann", Groups: []string{"ann"}}, true},
		{"user", "%primary_group", Submission{User: "ann"}, false},
		{"user", "%specified", Submission{User: "a", Queue: "a"}, true},
		{"group", "qa", ann, true}, {"group", "staff", ann, true}, {"group", "no", ann, false},
		{"group", "x", Submission{User: "x"}, false},
		{"group", "g-%user", Submission{User: "ann", Groups: []string{"g-ann"}}, true},
		{"group", "a.b", Submission{User: "ann", Groups: []string{"a.b"}}, true},
		{"application", "etl", ann, true}, {"application", "*", ann, false},
		{"application", "*", Submission{User: "u", Application: "*"}, true},
		{"application", "%user-job", Submission{User: "ann", Application: "ann-job"}, true},
	} {
		rules := rulesOf(t, fmt.Sprintf(`{"type":%q,"matches":%q,"policy":"reject"}`, tc.kind, tc.matches))
		if got := (&Rules{List: rules, Override: true}).Place(queues, tc.s); got.Rejected != tc.want {
			t.Errorf("%s %s of %+v: %+v, want a match: %v", tc.kind, tc.matches, tc.s, got, tc.want)
		}
	}
}

func TestDefaultQueue(t *testing.T) {
	all := func(rest string) string { return `{"type":"user","matches":"*",` + rest + `}` }
	set := func(value string) string { return all(`"policy":"setDefaultQueue","value":"` + value + `"`) }
	lost := all(`"policy":"user","parentQueue":"root.none","fallbackResult":"placeDefault"`)
	for _, tc := range []struct{ rules, want string }{
		{lost, "root.default 1"},
		{set("root.a") + "," + lost, "root.a 2"},
		{set("root.users.%user") + "," + lost, "root.users.ann 2"},
		{set("a") + "," + set("root.only") + "," + all(`"policy":"defaultQueue"`), "root.only 3"},
		{set("root.gone") + "," + lost, "rejected 2"},
		{set("%default") + "," + lost, "root.default 2"}, // %default keeps its value
		{set("root.%default") + "," + set("%default.%default") + "," + lost, "rejected 3"},
		{set("root.teams") + "," + all(`"policy":"defaultQueue"`), "-"},
		{set("root.a"), "-"},
		{strings.Replace(set("root.a"), "*", "eve", 1) + "," + lost, "root.default 2"},
	} {
		if got := (&Rules{List: rulesOf(t, tc.rules)}).Place(queues, ann); outcome(got) != tc.want {
			t.Errorf("%s: %s, want %s; %+v", tc.rules, outcome(got), tc.want, got.Steps)
		}
	}
}

// TestLegacyFirstMatchDecides checks that only the first matching legacy rule counts: no other rule
// follows it.
func TestLegacyFirstMatchDecides(t *testing.T) {
	for _, tc := range []struct {
		mappings, apps string
		s              Submission
		override       bool
		want           string
	}{
		{"u:ann:root.a,u:%user:root.only", "", ann, false, "root.a 1"},
		{"u:eve:root.a , g:qa:root.only", "", ann, false, "root.only 2"},
		{"u:%user:root.users.%user,u:%user:root.only", "", Submission{User: "eve"}, false, "root.default 1"},
		{"u:%user:root.teams.%primary_group", "", Submission{User: "u", Groups: []string{"dev"}}, false, "root.teams.dev 1"},
		{"u:%user:root.teams.%secondary_group,g:dev:root.a", "", Submission{User: "u", Groups: []string{"dev"}}, false,
			"root.default 1"},
		{"u:%user:%user", "", Submission{User: "a"}, false, "root.a 1"},
		{"u:eve:root.a", "etl:root.apps.etl", ann, false, "root.apps.etl 2"},
		{"u:eve:root.a", "x:root.only,etl:root.apps.%application", ann, false, "root.apps.etl 3"},
		{"u:eve:root.a", "", ann, false, "-"},
		{"u:%user:root.a", "", Submission{User: "ann", Queue: "root.only"}, false, "-"},
		{"u:%user:root.a", "", Submission{User: "ann", Queue: "root.default"}, false, "-"},
		{"u:%user:root.a", "", Submission{User: "ann", Queue: "default"}, false, "root.a 1"},
		{"u:%user:root.a", "", Submission{User: "ann", Queue: "root.only"}, true, "root.a 1"},
		{"u::ann:root.a", "", ann, false, "root.a 1"}, // empty fields are dropped
		{"u:eve:root.a,\nu:eve:root.a,u:ann:root.only", "", ann, false, "root.only 2"},
	} {
		rules, problems := ParseLegacy(tc.mappings, tc.apps)
		if len(problems) > 0 {
			t.Fatalf("ParseLegacy(%q, %q): problems %v", tc.mappings, tc.apps, problems)
		}
		got := (&Rules{List: rules, Override: tc.override}).Place(queues, tc.s)
		if outcome(got) != tc.want {
			t.Errorf("%s %s of %+v: %s, want %s", tc.mappings, tc.apps, tc.s, outcome(got), tc.want)
		}
		if named := tc.s.Queue != "" && tc.s.Queue != "default" && !tc.override; got.PassedOver != named {
			t.Errorf("%s: passed over %v", tc.mappings, got.PassedOver)
		}
	}
	bare := paths{"root", "root.a"}
	rules, _ := ParseLegacy("u:%user:root.%user", "")
	if got := (&Rules{List: rules}).Place(bare, ann); !got.Rejected {
		t.Errorf("without root.default: %+v", got)
	}
}

// TestLongPaths checks that the values of variables never make a path longer than the limit, even
// if they multiply.
func TestLongPaths(t *testing.T) {
	twice := `{"type":"user","matches":"*","policy":"setDefaultQueue","value":"%default%default"},`
	long := `{"type":"user","matches":"*","policy":"custom","customPlacement":"root` + strings.Repeat(".%user", 300) +
		`","fallbackResult":"skip"}`
	rules := Rules{List: rulesOf(t, strings.Repeat(twice, 60)+long+
		`,{"type":"user","matches":"*","policy":"defaultQueue","fallbackResult":"reject"}`)}
	got := rules.Place(queues, Submission{User: strings.Repeat("é", 100)})
	if !got.Rejected || len(got.Steps) != 62 {
		t.Fatalf("%d steps, rejected %v", len(got.Steps), got.Rejected)
	}
	for _, step := range got.Steps[60:] {
		if len(step.Queue) <= maxPath || !strings.Contains(step.Why, "more than 2048 bytes") {
			t.Errorf("%s leads to %d bytes: %q", step.Text[:30], len(step.Queue), step.Why)
		}
	}
	for i, step := range got.Steps {
		if len(step.Queue) > maxPath+10 {
			t.Errorf("step %d has %d bytes", i, len(step.Queue))
		}
	}
	full := "root." + strings.Repeat("a", maxPath-len("root."))
	if _, _, why := resolve(queues, full, false); strings.Contains(why, "more than") {
		t.Errorf("a path of exactly %d bytes is not resolved: %s", maxPath, why)
	}
}

// TestManySteps checks that the result lists the first matching rules and the last one if there are
// too many.
func TestManySteps(t *testing.T) {
	rule := `{"type":"user","matches":"*","policy":"custom","customPlacement":"root.no","fallbackResult":"skip"},`
	rules := Rules{List: rulesOf(t, strings.Repeat(rule, maxSteps+50)+`{"type":"user","matches":"*","policy":"reject"}`)}
	if got := rules.Place(queues, ann); len(got.Steps) != maxSteps || got.Steps[maxSteps-1].Rule != maxSteps+51 ||
		got.Rule != maxSteps+51 {
		t.Errorf("%d steps, the last of rule %d", len(got.Steps), got.Steps[len(got.Steps)-1].Rule)
	}
}
