package yarn

import (
	"fmt"
	"strconv"
	"strings"
)

// Gang declares that the first containers for which an attempt asks at a priority start together or
// not at all. All members have the same size.
type Gang struct {
	Priority int32
	// Request is the allocation request id of the ask. With AnyRequest it is the first ask at the
	// priority.
	Request    int64
	AnyRequest bool
	Count      int64 // number of members
	PerNode    int64 // members on each node that has any; 0: as many as fit
	OneRack    bool  // all nodes must be in one rack
	// TimeoutMillis is how long the members may wait, from the ask for the first of them; 0:
	// forever. After the timeout the application fails or, with Ordinary, its ask is served
	// container by container.
	TimeoutMillis int64
	Ordinary      bool
}

// Bounds of a gang.
const (
	MaxGangMembers        = 1000
	maxGangTimeoutSeconds = 31 * 24 * 3600
)

// GangTag is the prefix of the application tag that declares a gang.
const GangTag = "rmd.gang:"

// gangKey is a key of the grammar. set parses its value.
type gangKey struct {
	name string
	set  func(g *gangSpec, v string) bool
	want string
}

// gangSpec is a gang as written in a tag. Any two of count, per-node and nodes determine the third.
type gangSpec struct {
	Gang
	nodes int64
}

// gangKeys has the keys of the grammar.
var gangKeys = []gangKey{
	{"priority", func(g *gangSpec, v string) bool {
		n, ok := number(v, 0, 1<<31-1)
		g.Priority = int32(n)
		return ok
	}, "a number from 0 to 2147483647"},
	{"request", func(g *gangSpec, v string) (ok bool) {
		g.Request, ok = number(v, -1, 1<<62)
		g.AnyRequest = false
		return ok
	}, "a number from -1 on"},
	{"count", func(g *gangSpec, v string) (ok bool) {
		g.Count, ok = number(v, 1, MaxGangMembers)
		return ok
	}, "a number from 1 to 1000"},
	{"per-node", func(g *gangSpec, v string) (ok bool) {
		g.PerNode, ok = number(v, 1, MaxGangMembers)
		return ok
	}, "a number from 1 to 1000"},
	{"nodes", func(g *gangSpec, v string) (ok bool) {
		g.nodes, ok = number(v, 1, MaxGangMembers)
		return ok
	}, "a number from 1 to 1000"},
	{"rack", func(g *gangSpec, v string) bool {
		g.OneRack = v == "one"
		return v == "one" || v == "any"
	}, "\"one\" or \"any\""},
	{"timeout", func(g *gangSpec, v string) bool {
		n, ok := number(v, 1, maxGangTimeoutSeconds)
		g.TimeoutMillis = n * 1000
		return ok
	}, "seconds from 1 to 2678400"},
	{"then", func(g *gangSpec, v string) bool {
		g.Ordinary = v == "ordinary"
		return v == "ordinary" || v == "fail"
	}, "\"fail\" or \"ordinary\""},
}

func number(v string, least, most int64) (int64, bool) {
	n, err := strconv.ParseInt(v, 10, 64)
	return n, err == nil && n >= least && n <= most
}

// ParseGang parses what follows GangTag: KEY=VALUE pairs, separated by commas or semicolons.
func ParseGang(text string) (Gang, error) {
	g := gangSpec{Gang: Gang{AnyRequest: true}}
	seen := make([]bool, len(gangKeys))
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ';' }) {
		name, value, _ := strings.Cut(part, "=")
		i := indexOfGangKey(name)
		switch {
		case i < 0:
			return Gang{}, fmt.Errorf("there is no key %q", name)
		case seen[i]:
			return Gang{}, fmt.Errorf("%s stands there twice", name)
		case !gangKeys[i].set(&g, value):
			return Gang{}, fmt.Errorf("%s is %q and must be %s", name, value, gangKeys[i].want)
		}
		seen[i] = true
	}
	switch {
	case !seen[0]:
		return Gang{}, fmt.Errorf("the priority is missing")
	case g.Ordinary && g.TimeoutMillis == 0:
		return Gang{}, fmt.Errorf("then needs a timeout")
	}
	return g.Gang, g.complete()
}

func indexOfGangKey(name string) int {
	for i := range gangKeys {
		if gangKeys[i].name == name {
			return i
		}
	}
	return -1
}

// complete computes those of count, per-node and nodes that are missing, and checks that they
// agree.
func (g *gangSpec) complete() error {
	switch {
	case g.nodes == 0 && g.Count == 0:
		return fmt.Errorf("the count is missing")
	case g.nodes == 0:
	case g.Count == 0 && g.PerNode == 0:
		return fmt.Errorf("nodes needs count or per-node")
	case g.Count == 0:
		g.Count = g.nodes * g.PerNode
	case g.Count%g.nodes != 0:
		return fmt.Errorf("a count of %d cannot be spread over %d nodes evenly", g.Count, g.nodes)
	case g.PerNode == 0:
		g.PerNode = g.Count / g.nodes
	}
	switch {
	case g.Count > MaxGangMembers:
		return fmt.Errorf("it has %d members and may have %d", g.Count, MaxGangMembers)
	case g.nodes != 0 && g.nodes*g.PerNode != g.Count:
		return fmt.Errorf("%d on each of %d nodes are not %d", g.PerNode, g.nodes, g.Count)
	case g.PerNode != 0 && g.Count%g.PerNode != 0:
		return fmt.Errorf("a count of %d has a remainder with %d per node", g.Count, g.PerNode)
	}
	return nil
}

// Nodes returns the number of nodes that the members use; 0: any number.
func (g *Gang) Nodes() int64 {
	if g.PerNode == 0 {
		return 0
	}
	return g.Count / g.PerNode
}

// Valid reports whether the gang is within the bounds of the grammar.
func (g *Gang) Valid() bool {
	parsed, err := ParseGang(g.String())
	return err == nil && parsed == *g
}

// String returns the gang in the form that ParseGang parses.
func (g *Gang) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "priority=%d", g.Priority)
	if !g.AnyRequest {
		fmt.Fprintf(&b, ",request=%d", g.Request)
	}
	fmt.Fprintf(&b, ",count=%d", g.Count)
	if g.PerNode != 0 {
		fmt.Fprintf(&b, ",per-node=%d", g.PerNode)
	}
	if g.OneRack {
		b.WriteString(",rack=one")
	}
	if g.TimeoutMillis != 0 {
		fmt.Fprintf(&b, ",timeout=%d", g.TimeoutMillis/1000)
	}
	if g.Ordinary {
		b.WriteString(",then=ordinary")
	}
	return b.String()
}

// IsOf reports whether an ask under the key can be the gang's ask.
func (g *Gang) IsOf(k SchedulerKey) bool {
	return k.Priority == g.Priority && (g.AnyRequest || k.AllocationID == g.Request)
}

// GangEnd is the reason why a gang ended. The numbers are in the log.
type GangEnd uint8

// The values of GangEnd. Append only, and also to gangEnds.
const (
	GangTimedOut  GangEnd = 1
	GangWithdrawn GangEnd = 2 // by its application or an operator
)

var gangEnds = [...]string{
	GangTimedOut:  "TIMED_OUT",
	GangWithdrawn: "WITHDRAWN",
}

// Known reports whether c is one of the causes.
func (c GangEnd) Known() bool { return c > 0 && int(c) < len(gangEnds) }

func (c GangEnd) String() string { return name(uint8(c), gangEnds[:]...) }

// MarshalText returns the cause's name.
func (c GangEnd) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// OnNode returns how many members to place on a node on which fit members fit, when left members
// are not placed yet.
func (g *Gang) OnNode(fit, left int64) int64 {
	switch {
	case g.PerNode == 0:
		return min(fit, left)
	case fit < g.PerNode:
		return 0
	}
	return g.PerNode
}
