package capacity

import (
	"fmt"
	"strings"
)

// MappingKind says what a mapping matches.
type MappingKind uint8

// Kinds of mappings; append only.
const (
	MapUser  MappingKind = 1 + iota // u:source:queue
	MapGroup                        // g:source:queue
)

// Mapping places the applications of a user or group. Source is a name or
// %user (every user). Queue is a path, a short name, or a text that holds
// %user, %primary_group or %secondary_group.
type Mapping struct {
	Kind          MappingKind
	Source, Queue string
}

// placeholders are what may stand for a part of a mapping.
var placeholders = []string{"%user", "%primary_group", "%secondary_group"}

// Variable says whether the mapping's queue depends on who submits.
func (m Mapping) Variable() bool { return strings.Contains(m.Queue, "%") }

// readMappings reads the placement rules and checks that fixed targets exist.
func (r *reader) readMappings(c *Config) {
	name := Prefix + "queue-mappings"
	c.MappingsOverride = r.bool(Prefix+"queue-mappings-override.enable", false)
	for _, item := range r.names(name) {
		m, err := parseMapping(item)
		if err != nil {
			r.fault(name, err.Error(), "write u:user:queue or g:group:queue, separated by commas")
			continue
		}
		if !m.Variable() {
			if i, err := c.Lookup(m.Queue); err != nil {
				r.fault(name, fmt.Sprintf("%q: %v", item, err), "name an existing leaf, by its full path if need be")
				continue
			} else if !c.Queues[i].Leaf {
				r.fault(name, fmt.Sprintf("%q: %s is not a leaf", item, c.Queues[i].Path), "name a leaf queue")
				continue
			}
		}
		c.QueueMappings = append(c.QueueMappings, m)
	}
}

func parseMapping(item string) (Mapping, error) {
	parts := strings.Split(item, ":")
	if len(parts) != 3 {
		return Mapping{}, fmt.Errorf("%q does not have three parts", clip(item))
	}
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	m := Mapping{Source: parts[1], Queue: parts[2]}
	switch parts[0] {
	case "u":
		m.Kind = MapUser
	case "g":
		m.Kind = MapGroup
	default:
		return Mapping{}, fmt.Errorf("%q begins with neither u nor g", clip(item))
	}
	if m.Source == "" || m.Queue == "" {
		return Mapping{}, fmt.Errorf("%q has an empty part", clip(item))
	}
	if strings.Contains(m.Source, "%") && (m.Source != "%user" || m.Kind != MapUser) {
		return Mapping{}, fmt.Errorf("%q: only u:%%user may stand for every source", clip(item))
	}
	rest := m.Queue
	for _, p := range placeholders {
		rest = strings.ReplaceAll(rest, p, "")
	}
	if strings.Contains(rest, "%") {
		return Mapping{}, fmt.Errorf("%q holds a placeholder that is not one of %s", clip(item), strings.Join(placeholders, ", "))
	}
	return m, nil
}

// Place returns the queue that the first matching rule names for a user, or
// ok = false when none matches with an existing leaf. Groups are the user's,
// the primary one first; the first further group with a queue is the secondary.
func (c *Config) Place(user string, groups []string) (queue int, ok bool) {
	for _, m := range c.QueueMappings {
		if !m.matches(user, groups) {
			continue
		}
		for _, path := range m.targets(user, groups) {
			if i, err := c.Lookup(path); err == nil && c.Queues[i].Leaf {
				return i, true
			}
		}
	}
	return -1, false
}

func (m Mapping) matches(user string, groups []string) bool {
	if m.Kind == MapUser {
		return m.Source == "%user" || m.Source == user
	}
	for _, g := range groups {
		if g == m.Source {
			return true
		}
	}
	return false
}

// targets returns the queues a rule may mean, first choice first.
func (m Mapping) targets(user string, groups []string) []string {
	path := strings.ReplaceAll(m.Queue, "%user", safePart(user))
	if strings.Contains(path, "%primary_group") {
		if len(groups) == 0 {
			return nil
		}
		path = strings.ReplaceAll(path, "%primary_group", safePart(groups[0]))
	}
	if !strings.Contains(path, "%secondary_group") {
		return []string{path}
	}
	var out []string
	for _, g := range groups[min(1, len(groups)):] {
		out = append(out, strings.ReplaceAll(path, "%secondary_group", safePart(g)))
	}
	return out
}

// safePart is a user or group name as a part of a path: Hadoop writes a dot as
// _dot_.
func safePart(name string) string { return strings.ReplaceAll(name, ".", "_dot_") }
