package twin

import (
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"rmd/scheduler/capacity"
	"rmd/scheduler/placement"
	"rmd/yarn"
)

// ComparePlacements reads random placement rules and places random submissions, with rmd and with
// Hadoop's CSMappingPlacementRule. Each world is a queue tree with its rules and submissions.
// ComparePlacements returns how many worlds differ, and prints the first three.
func ComparePlacements(cache string, first, worlds uint64, out io.Writer) (differing int, err error) {
	j, err := startPlacementJVM(cache)
	if err != nil {
		return 0, err
	}
	defer j.Close()
	counts := map[string]int{}
	for seed := first; seed < first+worlds; seed++ {
		w := randomPlacements(seed)
		want, err := j.ask(w.text(), len(w.questions))
		if err != nil {
			return differing, fmt.Errorf("world %d: %w", seed, err)
		}
		got := w.answers()
		var diff strings.Builder
		for i, q := range w.questions {
			counts[q.kind(want[i])]++
			if got[i] != want[i] {
				fmt.Fprintf(&diff, "%v\n  rmd    %s\n  Hadoop %s\n", q, got[i], want[i])
			}
		}
		if diff.Len() == 0 {
			continue
		}
		if differing++; differing <= 3 {
			fmt.Fprintf(out, "world %d: %v\n%s", seed, w.questions[0], diff.String())
		}
	}
	fmt.Fprintf(out, "%d worlds", worlds)
	for _, kind := range []string{"legacy", "json", "illegal", "ok", "unusable", "placed", "rejected", "none"} {
		fmt.Fprintf(out, ", %d %s", counts[kind], kind)
	}
	fmt.Fprintf(out, "; %d worlds differ\n", differing)
	return differing, nil
}

func startPlacementJVM(cache string) (*jvm, error) {
	return startJVM(cache, "rmd.interop.TwinPlacement")
}

// question is an input line of the Java side: tree (keys and values), legacy (both lists), json
// (the rules), use (whether the rules that were read last override the submission), or submit
// (user, application, queue, groups).
type question []string

func (q question) kind(answer string) string {
	switch {
	case strings.HasPrefix(answer, "illegal"):
		return "illegal"
	case strings.HasPrefix(answer, "unusable"):
		return "unusable"
	case q[0] != "submit" && q[0] != "use":
		return q[0]
	case strings.HasPrefix(answer, "root."):
		return "placed"
	}
	return answer
}

// placements is a queue tree with questions about it.
type placements struct {
	questions []question
	tree      *randomQueues
}

func (w *placements) text() string {
	var b strings.Builder
	for _, q := range w.questions {
		b.WriteString(q[0])
		for _, word := range q[1:] {
			b.WriteString(" " + base64.StdEncoding.EncodeToString([]byte(word)))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// answers returns rmd's answers. If no parent creates queues, it also reads the tree as a
// configuration and places with that.
func (w *placements) answers() (out []string) {
	var conf *capacity.Config
	var read []placement.Rule
	var rules []capacity.Property
	var all placement.Rules
	for _, q := range w.questions {
		answer := "ok"
		switch q[0] {
		case "legacy":
			rules = []capacity.Property{{Name: mappingsKey, Value: q[1]}, {Name: appNamesKey, Value: q[2]}}
			read, answer = converted(placement.ParseLegacy(q[1], q[2]))
		case "json":
			rules = []capacity.Property{{Name: capacity.RulesFormatKey, Value: "json"}, {Name: capacity.RulesKey, Value: q[1]}}
			list, _, problems := placement.ParseJSON(q[1])
			read, answer = converted(list, problems)
		case "use":
			all = placement.Rules{List: read, Override: q[1] == "true"}
			taken := len(placement.Check(read, w.tree)) == 0
			if !w.tree.creates {
				props := slices.Concat(w.tree.properties(), rules, []capacity.Property{{Name: overrideKey, Value: q[1]}})
				_, err := capacity.Parse(props)
				taken = err == nil
				if conf, err = capacity.ParseStored(props); err != nil {
					return append(out, err.Error())
				}
			}
			if !taken {
				answer = "unusable: " + placement.Check(read, w.tree)[0].YARN
			}
		case "submit":
			s := placement.Submission{User: q[1], Application: q[2], Queue: q[3], Groups: q[4:]}
			if conf != nil {
				answer = placed(conf.Place(s))
			} else {
				answer = placed(all.Place(w.tree, s))
			}
		}
		out = append(out, answer)
	}
	return out
}

func placed(r placement.Result) string {
	switch {
	case r.Rejected:
		return "rejected"
	case r.Queue == "":
		return "none"
	}
	return r.Queue
}

// converted formats rules as Hadoop's toString does.
func converted(rules []placement.Rule, problems []placement.Problem) ([]placement.Rule, string) {
	if len(problems) > 0 && problems[0].YARN != "" {
		return nil, strings.ReplaceAll("illegal: "+problems[0].YARN, "\n", " ")
	}
	if len(problems) > 0 {
		return nil, "illegal"
	}
	var out []string
	for _, r := range rules {
		out = append(out, fmt.Sprintf("MappingRule{matcher=%s, action=%s} %s", matcherText(r), actionText(r),
			map[placement.Fallback]string{placement.FallbackSkip: "SKIP", placement.FallbackReject: "REJECT",
				placement.FallbackDefault: "PLACE_TO_DEFAULT"}[r.Fallback]))
	}
	return rules, strings.ReplaceAll(strings.Join(out, "; "), "\n", " ")
}

func matcherText(r placement.Rule) string {
	switch r.Match {
	case placement.MatchAll:
		return "MatchAllMatcher"
	case placement.MatchGroup:
		return fmt.Sprintf("GroupMatcher{group='%s'}", r.Name)
	case placement.MatchApplication:
		return fmt.Sprintf("VariableMatcher{variable='%%application', value='%s'}", r.Name)
	}
	return fmt.Sprintf("VariableMatcher{variable='%%user', value='%s'}", r.Name)
}

func actionText(r placement.Rule) string {
	switch r.Action {
	case placement.Reject:
		return "RejectAction"
	case placement.SetDefault:
		return fmt.Sprintf("VariableUpdateAction{variableName='%%default', variableValue='%s'}", r.Target)
	}
	return fmt.Sprintf("PlaceToQueueAction{queueName='%s',allowCreate=%t}", r.Target, r.Create)
}

const (
	mappingsKey = capacity.Prefix + "queue-mappings"
	appNamesKey = "yarn.scheduler.queue-placement-rules.app-name"
	overrideKey = capacity.Prefix + "queue-mappings-override.enable"
)

// randomQueues is a queue tree. A parent is managed, flexible, or creates no queues.
type randomQueues struct {
	list    []placement.Queue // each parent before its children
	creates bool              // some parent creates queues
}

func (t *randomQueues) Find(name string) (placement.Queue, bool) {
	var found []placement.Queue
	for _, q := range t.list {
		switch {
		case q.Path == name:
			return q, true
		case yarn.QueueName(q.Path) == name:
			found = append(found, q)
		}
	}
	if len(found) != 1 {
		return placement.Queue{}, false
	}
	return found[0], true
}

func (t *randomQueues) Ambiguous(name string) bool {
	n := 0
	for _, q := range t.list {
		if q.Path == name {
			return false
		}
		if yarn.QueueName(q.Path) == name {
			n++
		}
	}
	return n > 1
}

func (t *randomQueues) children(of string) (names []string) {
	for _, q := range t.list {
		if q.Path == of+"."+yarn.QueueName(q.Path) {
			names = append(names, yarn.QueueName(q.Path))
		}
	}
	return names
}

// properties returns the tree as a configuration.
func (t *randomQueues) properties() (out []capacity.Property) {
	set := func(path, key, value string) {
		out = append(out, capacity.Property{Name: capacity.Prefix + path + "." + key, Value: value})
	}
	for _, q := range t.list {
		names := t.children(q.Path)
		if len(names) > 0 {
			set(q.Path, "queues", strings.Join(names, ","))
		}
		for i, n := range names {
			share := 5
			if i == 0 {
				share = 100 - 5*(len(names)-1)
			}
			set(q.Path+"."+n, "capacity", strconv.Itoa(share))
		}
		if q.Managed {
			set(q.Path, "auto-create-child-queue.enabled", "true")
			set(q.Path, "leaf-queue-template.capacity", "10")
		}
		if q.Flexible {
			set(q.Path, "auto-queue-creation-v2.enabled", "true")
		}
	}
	return out
}

// placementNames are the names of queues, users, groups and applications alike, so that rules often
// match a queue.
var placementNames = []string{"a", "b", "ann", "bob", "bob_dot_x", "dev", "ops", "etl", "users", "default"}

func randomQueueTree(r *rand.Rand) *randomQueues {
	t := &randomQueues{}
	may := r.IntN(2) == 0
	var grow func(path string, levels int)
	grow = func(path string, levels int) {
		q := placement.Queue{Path: path}
		at := len(t.list)
		t.list = append(t.list, q)
		names := slices.Clone(placementNames)
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		children := 0
		if path == "root" || levels > 0 && r.IntN(2) == 0 {
			children = 1 + r.IntN(5)
		}
		if path == "root" && r.IntN(4) > 0 {
			names[slices.Index(names, "default")], names[0] = names[0], "default"
		}
		if may {
			q.Flexible = r.IntN(4) == 0
			if q.Managed = !q.Flexible && r.IntN(4) == 0 && path != "root"; q.Managed {
				children = 0
			}
		}
		q.Leaf = children == 0 && !q.Managed && !q.Flexible
		t.creates = t.creates || q.Managed || q.Flexible
		t.list[at] = q
		for _, n := range names[:children] {
			grow(path+"."+n, levels-1)
		}
	}
	grow("root", 3)
	return t
}

// randomPlacements returns a tree, rules that may be invalid, and submissions for rules in both
// formats.
func randomPlacements(seed uint64) *placements {
	r := rand.New(rand.NewPCG(seed, 2))
	w := &placements{tree: randomQueueTree(r)}
	g := &placementWords{r, w.tree}
	tree := question{"tree"}
	for _, p := range w.tree.properties() {
		tree = append(tree, p.Name, p.Value)
	}
	w.questions = []question{tree, {"legacy", g.mappings(4, 8), g.appNames(2, 8)}, {"json", g.rules(1+r.IntN(4), 8)}}
	for range 2 {
		override := strconv.FormatBool(r.IntN(2) == 0)
		if r.IntN(2) == 0 {
			w.questions = append(w.questions, question{"legacy", g.mappings(1+r.IntN(5), 0), g.appNames(r.IntN(3), 0)})
		} else {
			w.questions = append(w.questions, question{"json", g.rules(1+r.IntN(6), 0)})
		}
		w.questions = append(w.questions, question{"use", override})
		for range 50 {
			w.questions = append(w.questions, g.submission())
		}
	}
	return w
}

var policyNames = []string{"specified", "reject", "defaultQueue", "user", "primaryGroup", "secondaryGroup",
	"primaryGroupUser",
	"secondaryGroupUser", "applicationName", "setDefaultQueue", "custom"}

// submission returns a submission as YARN's client service passes it on. That service refuses a
// submission with the queue "", which for rmd means no queue.
func (g *placementWords) submission() question {
	q := question{"submit", g.name(), g.one("N/A", "", g.name(), g.name()), "default"}
	switch g.IntN(4) {
	case 0:
		q[3] = g.path()
	case 1:
		q[3] = g.one("root.default", g.name())
	}
	for range g.IntN(5) {
		q = append(q, g.name())
	}
	return q
}
