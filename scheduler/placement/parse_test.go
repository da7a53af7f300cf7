package placement

import (
	"fmt"
	"strings"
	"testing"
)

func TestLegacyProblems(t *testing.T) {
	for _, tc := range []struct{ mappings, apps, want string }{
		{"u:bob", "", `rule 1: "u:bob" does not have three parts`},
		{"u:a:b:c", "", "does not have three parts"},
		{"u:ann:a,x:bob:a", "", `rule 2: "x:bob:a" begins with neither u nor g`},
		{"u:ann:a", "x", `rule 2: "x" does not have two parts`},
		{"", "a:b:c", "does not have two parts"},
		{strings.Repeat("u:a:b,", 2) + many(MaxRules+1), "", "more than 10000"},
	} {
		_, problems := ParseLegacy(tc.mappings, tc.apps)
		if len(problems) != 1 || !strings.Contains(problems[0].String(), tc.want) {
			t.Errorf("%.40s: %v, want %s", tc.mappings, problems, tc.want)
		}
	}
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "u:u%d:a,", i)
	}
	return b.String()
}

func TestJSONProblems(t *testing.T) {
	for text, want := range map[string]string{
		``:                       "the JSON ends too early",
		`{"rules":[`:             "the JSON ends too early",
		"{\n \"rules\": [x]}":    "line 2, column 12: invalid character 'x'",
		`[]`:                     "not a JSON object",
		`{"rules":null}`:         `"rules" is not a list`,
		`{"rules":{}}`:           `"rules" is not a list`,
		`{"rules":[1]}`:          "rule 1: is not a JSON object",
		`{"rules":[null]}`:       "rule 1: is not a JSON object",
		rule(`"policy":"user"`):  "rule 2: has no type",
		rule(`"type":"user"`):    "rule 2: has no policy",
		rule(`"Policy":"user"`):  "rule 2: has no policy",
		rule(`"policy":"User"`):  "has no type",
		rule(`"policy":{}`):      `"policy" is not a text`,
		typed(`"policy":"User"`): `the policy "User" is not specified, reject`,
		typed(`"policy":"user","fallbackResult":"none"`):        `the fallbackResult "none" is not skip`,
		typed(`"policy":"custom"`):                              "no customPlacement",
		typed(`"policy":"setDefaultQueue"`):                     "no value",
		typed(`"policy":"user","create":"maybe"`):               `"create" is not true or false`,
		rule(`"policy":"user","type":"group","matches":"*"`):    "cannot match * for groups",
		rule(`"policy":"user","type":"queue","matches":"*"`):    `the type "queue" is not user`,
		rule(`"policy":"user","type":"user","matches":""`):      `has no "matches"`,
		`{"rules":[` + strings.Repeat("{},", MaxRules) + `{}]}`: "more than 10000",
	} {
		_, _, problems := ParseJSON(text)
		if len(problems) != 1 || !strings.Contains(problems[0].String(), want) {
			t.Errorf("%.80s: %v, want %s", text, problems, want)
		}
	}
}

const good = `{"type":"user","matches":"*","policy":"user"}`

func rule(keys string) string  { return `{"rules":[` + good + `,{` + keys + `}]}` }
func typed(keys string) string { return rule(`"type":"user","matches":"*",` + keys) }

func TestJSONFormsOfYARN(t *testing.T) {
	for text, want := range map[string]int{
		`{}`: 0, `{"rules":[]} and more`: 0, rule(`"type":"user","matches":7,"policy":"user","create":"true"`): 2,
		typed(`"policy":"user","create":0`): 2, typed(`"policy":"user","policy":"reject"`): 2,
		typed(`"policy":"user","parentQueue":null`): 2,
	} {
		rules, warnings, problems := ParseJSON(text)
		if len(rules) != want || len(warnings)+len(problems) > 0 {
			t.Errorf("ParseJSON(%s) gave %d rules, warnings %v, problems %v, want %d rules alone",
				text, len(rules), warnings, problems, want)
		}
	}
	_, warnings,
		_ := ParseJSON(`{"rule":1,"rules":[{"type":"user","matches":"*","policy":"user","fallbackresult":"reject"}]}`)
	if len(warnings) != 2 || warnings[1].Rule != 1 ||
		!strings.Contains(warnings[1].What, `"fallbackresult" means nothing`) {
		t.Errorf("ParseJSON warnings %v, want two, the second one of rule 1 about \"fallbackresult\"",
			warnings)
	}
}

func TestCheck(t *testing.T) {
	for target, want := range map[string]string{
		"root.a": "", "a": "", "teams.dev": "", "%user": "", "root.users.%user": "", "%specified": "", "%user.x..y": "",
		"":                  "names no queue",
		"root":              "root is not a leaf",
		"root.teams":        "root.teams is not a leaf",
		"none":              `there is no queue "none"`,
		"none.a":            `there is no queue "none", where "none.a" begins`,
		"root.none":         `there is no queue "root.none"`,
		"ann":               `several queues are named "ann"`,
		"dev.x":             `several queues are named "dev", where`,
		"root.a.%user":      "root.a is a leaf",
		"root.none.%user":   `there is no queue "root.none"`,
		"root..%user":       "has an empty part",
		"root..a":           "has an empty part",
		".":                 "has an empty part",
		"root.users.x%user": "a variable must be a whole part",
	} {
		problems := Check([]Rule{{Action: Reject}, {Action: Place, Target: target}}, queues)
		if (len(problems) == 0) != (want == "") || want != "" && !strings.Contains(problems[0].String(), want) {
			t.Errorf("%q: %v, want %q", target, problems, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(rule(`"policy":"user"`), "u:ann:root.a", "etl:root.%application", "ann", "root.a")
	f.Add(typed(`"policy":"setDefaultQueue","value":"%user.%user"`), "g:%user:.", "a::b", "..", "%default")
	f.Add(`{"rules":[{"type":1e9,"create":1}]}`, "u:%user:%secondary_group.%secondary_group", "", "a b", ".")
	f.Fuzz(func(t *testing.T, text, mappings, apps, user, queue string) {
		list, _, problems := ParseJSON(text)
		legacy, more := ParseLegacy(mappings, apps)
		for _, p := range append(problems, more...) {
			if p.What == "" {
				t.Error("a problem without words")
			}
		}
		list = append(list, legacy...)
		Check(list, queues)
		got := (&Rules{List: list, Override: true}).Place(queues,
			Submission{User: user, Groups: []string{user, queue}, Application: mappings, Queue: queue})
		if got.Queue != "" && !queues.queue(got.Queue).Leaf {
			t.Errorf("placed in %s, which is no leaf", got.Queue)
		}
	})
}
