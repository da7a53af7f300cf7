package capacity

//lint:file-ignore ST1005 the sentences of Creatable are YARN's

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"rmd/internal/clip"
	"rmd/scheduler/capacity/amount"
	"rmd/scheduler/capacity/property"
	"rmd/yarn"
)

// MaxDynamicQueues is the number of queues at which a cluster stops creating more.
const MaxDynamicQueues = 200_000

// Creation is the way in which a queue was created.
type Creation uint8

// Ways in which queues come to be; append only.
const (
	Static   Creation = iota // the configuration lists it
	Flexible                 // a submission created it, by auto-queue-creation-v2
	Legacy                   // a submission created it, by auto-create-child-queue
)

// String returns YARN's name (creationMethod in its REST documents).
func (k Creation) String() string { return pick(int(k), "static", "dynamicFlexible", "dynamicLegacy") }

// Eligibility returns YARN's name for a parent whose children are created in this way
// (autoCreationEligibility in its REST documents).
func (k Creation) Eligibility() string { return pick(int(k), "off", "flexible", "legacy") }

// AutoCreate says how submissions create queues below a parent.
type AutoCreate struct {
	By        Creation // Static: they create none
	MaxQueues int64    // the most children of the parent
	MaxDepth  int64    // how many levels a leaf may be below the nearest static parent
	Templates Templates

	// For a parent with auto-create-child-queue, which is called a managed parent:
	LeafTemplate []Property // the keys of its leaves, sorted by name
	Room         int64      // how many leaves may have the capacity of the template at the same time
	FailBeyond   bool       // no more leaves are created than that
}

// ChildrenBy returns the way in which submissions create queues below q; Static if they do not.
func (q *Queue) ChildrenBy() Creation {
	if q.AutoCreate == nil {
		return Static
	}
	return q.AutoCreate.By
}

const (
	flexible       = "auto-queue-creation-v2."
	depthKey       = flexible + "maximum-queue-depth"
	autoRemoveKey  = flexible + "queue-auto-removal.enable"
	ExpirationKey  = Prefix + flexible + "queue-expiration-time"
	anyQueue       = "*" // wildcard for a part of a path in the keys of templates
	allTemplate    = flexible + "template."
	leafTemplate   = flexible + "leaf-template."
	parentTemplate = flexible + "parent-template."
)

// readAutoCreate reads how submissions create queues below a queue, and whether the queue itself
// may be removed.
func (r *reader) readAutoCreate(c *Config, q *Queue, key func(string) string) {
	remove := r.bool(key(autoRemoveKey), true)
	q.AutoRemove = remove && q.Creation != Static
	if q.Leaf {
		return
	}
	a := &AutoCreate{
		MaxQueues: r.int(key(flexible+"max-queues"), 1000, 0, MaxDynamicQueues),
		MaxDepth:  r.int(key(depthKey), r.int(Prefix+depthKey, 2, 0, maxDepth), 0, maxDepth),
	}
	if r.bool(key(flexible+"enabled"), false) || q.Creation == Flexible {
		a.By = Flexible
	}
	r.readManaged(c, q, key, a)
	a.Templates = r.readTemplates(c, q, a.MaxDepth)
	if a.By == Static && len(a.Templates.All)+len(a.Templates.Leaf)+len(a.Templates.Parent) == 0 {
		return
	}
	q.AutoCreate = a
}

// readDynamic reads the settings of a dynamic queue. Its path, parent and kind must be set.
func (r *reader) readDynamic(c *Config, q *Queue) {
	parent := &c.Queues[q.Parent]
	r.overlay = c.Settings(parent, q.Path, q.Leaf)
	r.readQueue(c, q)
	r.overlay = nil
	if q.Creation == Legacy && !q.Active {
		q.deactivate()
	}
	if c.LegacyQueueMode && q.Creation == Flexible && q.Capacity.Unit != amount.Weight {
		r.fault(Prefix+q.Path+".capacity", "a queue that is created by auto-queue-creation-v2 needs a weight",
			"write a weight such as 1w, or set "+Prefix+"legacy-queue-mode.enabled = false")
	}
}

// Adopt returns the properties of a configuration that also lists dynamic queue i and the dynamic
// queues above it, with the keys that they have from templates and defaults. It fails if queue i is
// not a dynamic queue, or is below a managed parent.
func (c *Config) Adopt(i int) ([]Property, error) {
	switch q := &c.Queues[i]; q.Creation {
	case Static:
		return nil, fmt.Errorf("queue %s is in the configuration already", q.Path)
	case Legacy:
		return nil,
			fmt.Errorf("queue %s is below a parent with auto-create-child-queue, which has no queues of the configuration",
				q.Path)
	}
	out := c.Properties()
	for ; c.Queues[i].Creation != Static; i = c.Queues[i].Parent {
		q := &c.Queues[i]
		parent := &c.Queues[q.Parent]
		children := c.values[Prefix+parent.Path+".queues"].Value
		if children != "" {
			children += ","
		}
		out = append(out, Property{Name: Prefix + parent.Path + ".queues", Value: children + q.Name})
		if !q.Leaf {
			out = append(out, Property{Name: Prefix + q.Path + "." + flexible + "enabled", Value: "true"})
		}
		out = append(out, c.Settings(parent, q.Path, q.Leaf)...)
	}
	return out, nil
}

// newDynamic returns a new queue below a parent, without its settings.
func (c *Config) newDynamic(parent int, path string, leaf bool) Queue {
	p := &c.Queues[parent]
	by := p.AutoCreate.By
	if by == Static {
		by = Flexible // the parent does not create queues any more
	}
	return Queue{Path: path, Name: yarn.QueueName(path), Parent: parent, Depth: p.Depth + 1, Leaf: leaf, Creation: by}
}

// Remaining divides the dynamic queues of another configuration into those that can remain in this
// one, and those that lose the queue above them. Queues that this configuration lists are in
// neither result.
func (c *Config) Remaining(list []yarn.DynamicQueue) (keep, gone []yarn.DynamicQueue) {
	stays := map[string]bool{} // looked up by key only
	for _, d := range list {
		above := yarn.ParentQueue(d.Path)
		parent, there := c.byPath[above]
		_, listed := c.byPath[d.Path]
		switch {
		case listed:
		case stays[above] || there && !c.Queues[parent].Leaf:
			keep, stays[d.Path] = append(keep, d), true
		default:
			gone = append(gone, d)
		}
	}
	return keep, gone
}

// WithDynamic returns the configuration with dynamic queues added. list must have parents before
// their children, and no queue that c has. The error is an *Invalid if a queue does not fit.
func (c *Config) WithDynamic(list []yarn.DynamicQueue) (*Config, error) {
	if len(list) == 0 {
		return c, nil
	}
	n := *c
	n.Queues = slices.Grow(slices.Clone(c.Queues), len(list))
	n.byPath, n.byName = make(map[string]int, len(c.byPath)+len(list)), make(map[string][]int, len(c.byName)+len(list))
	for i := range c.Queues {
		n.index(i)
		n.Queues[i].Children, n.Queues[i].Labels = slices.Clone(c.Queues[i].Children), slices.Clone(c.Queues[i].Labels)
	}
	r := n.newReader()
	like := map[kindOfQueue]int{} // looked up by key only
	var faults []Fault
	for _, d := range list {
		parent, ok := n.byPath[yarn.ParentQueue(d.Path)]
		switch _, there := n.byPath[d.Path]; {
		case there:
			return nil, fmt.Errorf("queue %s is in the configuration", d.Path)
		case !ok:
			faults = append(faults, Fault{Name: Prefix + d.Path, What: "the dynamic queue has no parent any more"})
			continue
		case n.Queues[parent].Leaf:
			faults = append(faults, Fault{Name: Prefix + n.Queues[parent].Path,
				What: fmt.Sprintf("the queue becomes a leaf, and the dynamic queue %s is below it", d.Path)})
			continue
		}
		n.addDynamic(r, parent, d, like)
	}
	if faults = append(faults, r.faults...); len(faults) > 0 {
		return nil, &Invalid{Faults: faults}
	}
	if c.LegacyQueueMode {
		check := n.newReader()
		for i := range n.Queues {
			if q := &n.Queues[i]; !q.Leaf && q.Creation == Static && q.ChildrenBy() != Legacy &&
				len(q.Children) > len(c.Queues[i].Children) {
				check.checkChildren(&n, q)
			}
		}
		if len(check.faults) > 0 {
			return nil, &Invalid{Faults: check.faults}
		}
	}
	n.computeShares()
	return &n, nil
}

// kindOfQueue identifies dynamic queues that differ only in their names.
type kindOfQueue struct {
	parent       int
	leaf, active bool
}

// addDynamic appends a dynamic queue and returns its index. like has a queue of each kind that was
// read before; its settings are copied, which is faster than reading them again.
func (c *Config) addDynamic(r *reader, parent int, d yarn.DynamicQueue, like map[kindOfQueue]int) int {
	if c.Queues[parent].AutoCreate == nil {
		c.Queues[parent].AutoCreate = &AutoCreate{}
	}
	q, kind := c.newDynamic(parent, d.Path, d.Leaf), kindOfQueue{parent, d.Leaf, d.Active}
	q.Active = d.Active
	own := len(property.Below(c.properties, Prefix+d.Path+".")) > 0
	if k, ok := like[kind]; ok && !own {
		path, name := q.Path, q.Name
		q = c.Queues[k]
		q.Path, q.Name, q.Children = path, name, nil
	} else {
		r.readDynamic(c, &q)
		if !own {
			like[kind] = len(c.Queues)
		}
	}
	i := len(c.Queues)
	c.Queues = append(c.Queues, q)
	c.Queues[parent].Children = append(c.Queues[parent].Children, i)
	c.index(i)
	return i
}

func (c *Config) index(i int) {
	q := &c.Queues[i]
	c.byPath[q.Path] = i
	c.byName[q.Name] = append(c.byName[q.Name], i)
}

// newReader returns a reader for more keys of a configuration that was already parsed.
func (c *Config) newReader() *reader {
	return &reader{values: newValues(c.values), templates: c.templates, stored: true}
}

// Add appends a dynamic queue and returns its index. It changes c, so c must not be shared. Trees
// of c must be computed again. The error is an *Invalid if the settings of the queue have faults.
func (c *Config) Add(d yarn.DynamicQueue) (int, error) {
	parent, ok := c.byPath[yarn.ParentQueue(d.Path)]
	if !ok || c.Queues[parent].Leaf {
		return 0, fmt.Errorf("%s has no parent", d.Path)
	}
	r := c.newReader()
	i := c.addDynamic(r, parent, d, map[kindOfQueue]int{})
	c.stale = true
	if len(r.faults) > 0 {
		return 0, &Invalid{Faults: r.faults}
	}
	return i, nil
}

// Creatable returns the queues that must be created so that the leaf path exists, parents first. If
// the leaf cannot be created, the error has YARN's message.
//
// Source: Hadoop 3.4.2, CapacitySchedulerQueueManager.determineMissingParents and
// ParentQueue.addDynamicChildQueue.
func (c *Config) Creatable(path string) ([]yarn.DynamicQueue, error) {
	parts := strings.Split(path, ".")
	if len(parts) < 2 {
		return nil, fmt.Errorf("Can not auto create queue %s due to missing ParentQueue path.", path)
	}
	for _, part := range parts {
		if !queueName(part) {
			return nil, fmt.Errorf("Could not auto-create queue %s, since %q is not a queue name.", path, clip.Text(part))
		}
	}
	_, err := c.Lookup(parts[0])
	if errors.Is(err, ErrAmbiguousQueue) {
		return nil, fmt.Errorf("Could not auto-create queue %s due to ParentQueue %s being ambiguous.", path,
			strings.Join(parts[:len(parts)-1], "."))
	} else if err != nil {
		return nil, fmt.Errorf("Could not auto-create queue %s parent queue does not exist.", path)
	}
	return c.missing(c.FullPath(path))
}

// FullPath replaces the first part of a path, if it is the short name of a queue, with the full
// path of that queue.
func (c *Config) FullPath(path string) string {
	first, rest, nested := strings.Cut(path, ".")
	if i, err := c.Lookup(first); err == nil && nested {
		return c.Queues[i].Path + "." + rest
	}
	return path
}

func (c *Config) missing(path string) ([]yarn.DynamicQueue, error) {
	create := []yarn.DynamicQueue{{Path: path, Leaf: true}}
	at := yarn.ParentQueue(path)
	parent, ok := c.byPath[at]
	for ; !ok; parent, ok = c.byPath[at] {
		create = append(create, yarn.DynamicQueue{Path: at})
		at = yarn.ParentQueue(at)
	}
	slices.Reverse(create)
	fixed, distance := parent, len(create)
	for ; c.Queues[fixed].Creation != Static; fixed = c.Queues[fixed].Parent {
		distance++
	}
	p := &c.Queues[parent]
	most := int64(2)
	if a := c.Queues[fixed].AutoCreate; a != nil {
		most = a.MaxDepth
	}
	switch {
	case int64(distance) > most:
		return nil,
			fmt.Errorf("Could not auto create queue %s. The distance of the LeafQueue from the first static ParentQueue is %d, which is above the limit.", path, distance)
	case p.Leaf:
		return nil, fmt.Errorf("Could not auto create hierarchy of %s. Queue %s is not a ParentQueue.", path,
			yarn.ParentQueue(path))
	case p.ChildrenBy() == Legacy && len(create) == 1:
		return create, c.managedChild(p, path)
	case p.ChildrenBy() != Flexible:
		return nil, fmt.Errorf("Auto creation of queue %s is not enabled under parent %s", path, p.Path)
	}
	return create, c.roomForChild(p, create[0].Path)
}

// roomForChild returns the reason why a parent can have no further child, or nil.
func (c *Config) roomForChild(p *Queue, path string) error {
	if n := int64(len(p.Children)); n >= p.AutoCreate.MaxQueues {
		return fmt.Errorf("Cannot auto create queue %s. Max Child Queue limit exceeded which is configured as: %d and number of child queues is: %d",
			path, p.AutoCreate.MaxQueues, n)
	}
	if len(c.Queues) >= MaxDynamicQueues {
		return fmt.Errorf("Cannot auto create queue %s. The cluster has its maximum of %d queues", path, MaxDynamicQueues)
	}
	if c.LegacyQueueMode && !c.weighted(p) {
		return fmt.Errorf("Trying to create new queue=%s but not all the queues under parent=%s are using weight-based capacity. Failed to created queue", path, p.Path)
	}
	return nil
}

// weighted reports whether the children of a parent have weights, and may have: a parent with an
// absolute capacity has only children with absolute capacities. As in YARN, one child with a weight
// suffices, because the others can only have no capacity.
func (c *Config) weighted(p *Queue) bool {
	if p.Capacity.Unit == amount.Absolute {
		return false
	}
	units, _ := unitsOf(c, p)
	return len(p.Children) == 0 || slices.Contains(units, amount.Weight)
}

// Candidates returns the queues that would be created, each below the one before, so that rules can
// be checked first. Their Parent is the lowest existing queue above them.
func (c *Config) Candidates(create []yarn.DynamicQueue) []Queue {
	n := *c
	n.byPath, n.byName = map[string]int{}, map[string][]int{}
	parent := c.byPath[yarn.ParentQueue(create[0].Path)]
	n.Queues = []Queue{c.Queues[parent]}
	n.Queues[0].Children = nil
	r := n.newReader()
	for i, d := range create {
		n.addDynamic(r, i, d, map[kindOfQueue]int{})
	}
	for i := range create {
		n.Queues[i+1].Parent = parent
	}
	return n.Queues[1:]
}

// MaySubmitToNew is MaySubmit for a leaf that does not exist yet. created are the Candidates, of
// which the leaf is the last.
func (c *Config) MaySubmitToNew(created []Queue, user string, groups ...string) bool {
	return c.MaySubmit(created[0].Parent, user, groups...) || slices.ContainsFunc(created, func(q Queue) bool {
		return q.SubmitACL.Allows(user, groups...) || q.AdministerACL.Allows(user, groups...)
	})
}
