package capacity

import (
	"fmt"
	"slices"
	"strings"

	"rmd/internal/clip"
	"rmd/scheduler/capacity/property"
)

// Bounds of a configuration.
const (
	maxProperties = 200_000
	maxValueBytes = 1 << 20
	maxQueues     = 10_000
	maxDepth      = 32
)

// Parse reads a queue configuration from properties. If a name occurs several times, the last value
// counts. Keys that do not belong to the queue configuration are ignored, with a warning if they
// look misspelled. If the configuration is not valid, the error is an *Invalid with all faults.
func Parse(props []Property) (*Config, error) { return parseAs(props, false) }

// ParseStored reads a configuration that a cluster has accepted before. Some faults that Parse
// refuses are only warnings; see ruleFault.
func ParseStored(props []Property) (*Config, error) { return parseAs(props, true) }

func parseAs(props []Property, stored bool) (*Config, error) {
	return newReader(stored).parse(props)
}

func newReader(stored bool) *reader {
	v := newValues(map[string]Property{})
	return &reader{values: v, keys: classifier{values: v}, stored: stored}
}

func (r *reader) parse(props []Property) (*Config, error) {
	for _, p := range props {
		if !Relevant(p.Name) {
			r.keys.warnStray(p)
			continue
		}
		if len(p.Value) > maxValueBytes {
			r.written[p.Name] = Property{Name: p.Name, Origin: p.Origin}
			r.fault(p.Name, fmt.Sprintf("is longer than %d bytes", maxValueBytes), "shorten it")
			continue
		}
		r.written[p.Name] = p
	}
	if len(r.written) > maxProperties {
		return nil,
			&Invalid{Faults: []Fault{{What: fmt.Sprintf("has %d keys, more than %d", len(r.written), maxProperties),
				Do: "remove queues"}}}
	}
	c := &Config{byPath: map[string]int{}, byName: map[string][]int{}}
	c.properties, c.values = property.Sorted(r.written), r.written
	c.templates = slices.ContainsFunc(c.properties, isTemplate)
	r.templates = c.templates
	r.readGlobal(c)
	r.buildQueues(c)
	if len(c.Queues) > 0 && !c.Queues[0].Leaf {
		r.readQueues(c)
		r.readPlacement(c)
		r.readWorkflows(c)
		r.readPreprocessor(c)
		r.checkQueues(c)
		r.checkTemplates(c)
		c.noteManaged()
	}
	r.keys.classify(c)
	if len(r.faults) > 0 {
		return nil, &Invalid{Faults: r.faults}
	}
	c.Warnings, c.Ignored = r.warnings, r.ignored
	c.computeShares()
	return c, nil
}

// buildQueues builds the tree of queues from the lists of children, depth first.
func (r *reader) buildQueues(c *Config) {
	name := Prefix + "root.queues"
	if !r.set(name) && !r.creates("root") {
		r.fault(name, "is missing: root has no queues", "list the queues under root, for example \"default\"")
		return
	}
	r.addQueue(c, "root", "root", -1, 0)
}

func (r *reader) addQueue(c *Config, path, short string, parent, depth int) int {
	i := len(c.Queues)
	c.Queues = append(c.Queues, Queue{Path: path, Name: short, Parent: parent, Depth: depth})
	c.byPath[path] = i
	c.byName[short] = append(c.byName[short], i)
	key := Prefix + path + ".queues"
	var children []int
	for _, child := range r.childNames(key) {
		if len(c.Queues) >= maxQueues || depth >= maxDepth {
			r.fault(key, fmt.Sprintf("makes more than %d queues or %d levels", maxQueues, maxDepth), "remove queues")
			break
		}
		children = append(children, r.addQueue(c, path+"."+child, child, i, depth+1))
	}
	c.Queues[i].Children, c.Queues[i].Leaf = children, len(children) == 0 && !r.creates(path)
	return i
}

// creates reports whether submissions create queues below a queue, which makes it a parent.
func (r *reader) creates(path string) bool {
	return r.bool(Prefix+path+"."+flexible+"enabled", false) || r.bool(Prefix+path+"."+managed+"enabled", false)
}

// childNames reads a list of children and refuses names that a path cannot contain.
func (r *reader) childNames(key string) []string {
	var out []string
	named := map[string]bool{}
	for _, n := range r.names(key) {
		switch {
		case named[n]:
			r.fault(key, fmt.Sprintf("names %q twice", clip.Text(n)), "name each queue once")
		case !queueName(n):
			r.fault(key, fmt.Sprintf("%q is not a queue name", clip.Text(n)),
				"use no dot, blank, quote or angle bracket, and at most 255 letters")
		default:
			named[n] = true
			out = append(out, n)
		}
	}
	return out
}

// queueName reports whether n can be the name of a queue.
func queueName(n string) bool {
	return n != "" && len(n) <= 255 && !strings.ContainsAny(n, ". \t\r\n\"<>&")
}
