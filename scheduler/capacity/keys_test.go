package capacity

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// everyKind is a configuration that has a leaf, parents of all kinds, and every feature, so that all
// keys are read.
const everyKind = `root.queues = a,b,c
root.a.capacity = 40
root.b.capacity = 30
root.b.queues = x
root.b.x.capacity = 100
root.c.capacity = 30
root.c.auto-create-child-queue.enabled = true
root.c.leaf-queue-template.capacity = 50
mapping-rule-format = json
mapping-rule-json = {"rules": []}
multi-node-placement-enabled = true
multi-node-sorting.policy.names = p
multi-node-sorting.policy = p
workflow-priority-mappings = w:root.a:1
workflow-priority-mappings-override.enable = true
`

// sites are the keys of everyKind without Prefix.
var sites = []Property{{Name: monitorEnable, Value: "true"}, {Name: PreprocessorEnabledKey, Value: "true"},
	{Name: labelsEnabled, Value: "true"}, {Name: "yarn.acl.enable", Value: "true"}}

// readElsewhere are keys that the reader of Hadoop's files replaces by the contents of the file.
var readElsewhere = []string{"mapping-rule-json-file", PreprocessorFileKey}

// TestEveryKeyHasItsRow checks that the table has exactly the keys that the functions read.
func TestEveryKeyHasItsRow(t *testing.T) {
	read := map[Place]map[string]bool{OfQueue: {}, OfCluster: {}, OfPreemption: {}, OfSite: {}}
	for _, list := range [][]Property{append(props(everyKind), sites...),
		props("root.queues = a\nroot.a.capacity = 100\nqueue-mappings = u:a:root.a")} {
		r := newReader(false)
		if _, err := r.parse(list); err != nil {
			t.Logf("faults do not matter here: %v", err)
		}
		for name := range r.seen {
			rest, ours := strings.CutPrefix(name, Prefix)
			monitored, preemption := strings.CutPrefix(name, preemptionPrefix)
			switch {
			case preemption:
				read[OfPreemption][monitored] = true
			case !ours:
				read[OfSite][name] = true
			case strings.HasPrefix(rest, "root."):
				for _, path := range []string{"root.b.x.", "root.a.", "root.b.", "root.c.", "root."} {
					if key, ok := strings.CutPrefix(rest, path); ok {
						read[OfQueue][strings.TrimPrefix(key, "*.")] = true // a child that is created later
						break
					}
				}
			default:
				read[OfCluster][rest] = true
			}
		}
	}
	many := func(name string) bool { // keys that contain a name
		return strings.HasPrefix(name, accessible) || strings.HasPrefix(name, "default-node-label-expression") ||
			strings.HasPrefix(name, "leaf-queue-template.") ||
			strings.HasPrefix(name, resourceTypes+".") || strings.HasSuffix(name, classSuffix) ||
			strings.Contains(name, "template.") || name == "leaf-queue-template"
	}
	for p, names := range read {
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if !slices.Contains(namesOf(p), name) && !many(name) {
				t.Errorf("place %d: %s is read and has no row", p, name)
			}
		}
		for _, name := range namesOf(p) {
			if !names[name] && !slices.Contains(readElsewhere, name) {
				t.Errorf("place %d: %s has a row and is never read", p, name)
			}
		}
	}
	for _, k := range keys {
		if k.Text == "" || (k.Leaf || k.Parent) != (k.Hint != "") {
			t.Errorf("%s lacks its text, or a hint for the form", k.Name)
		}
	}
}

// TestDefaultsOfKeys checks that a key with its default means the same as no key.
func TestDefaultsOfKeys(t *testing.T) {
	const base = "root.queues = a,b\nroot.a.capacity = 40\nroot.b.capacity = 60\nroot.b.queues = x\nroot.b.x.capacity = 100\n"
	want := bare(parse(t, base))
	tried := 0
	for _, k := range keys {
		if k.Default == "" || strings.ContainsAny(k.Default, " '") {
			continue
		}
		tried++
		list := props(base)
		switch k.Place {
		case OfQueue:
			list = append(list, Property{Name: Prefix + "root.a." + k.Name, Value: k.Default},
				Property{Name: Prefix + "root.b." + k.Name, Value: k.Default})
		case OfCluster:
			list = append(list, Property{Name: Prefix + k.Name, Value: k.Default})
		case OfPreemption:
			list = append(list, Property{Name: preemptionPrefix + k.Name, Value: k.Default})
		case OfSite:
			list = append(list, Property{Name: k.Name, Value: k.Default})
		}
		c, err := Parse(list)
		if err != nil {
			t.Errorf("%s = %s: %v", k.Name, k.Default, err)
			continue
		}
		if got := bare(c); !reflect.DeepEqual(got, want) {
			t.Errorf("%s = %s changes the configuration", k.Name, k.Default)
		}
	}
	if tried < 60 {
		t.Errorf("only %d defaults", tried)
	}
}

// bare returns what a configuration means, without its properties and warnings.
func bare(c *Config) Config {
	out := *c
	out.properties, out.values, out.Warnings, out.Ignored = nil, nil, nil, nil
	return out
}
