package capacity

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"rmd/scheduler/capacity/amount"
	"rmd/scheduler/capacity/share"
	"rmd/yarn"
)

// Keys outside the prefix that concern node labels.
const (
	labelsEnabled   = "yarn.node-labels.enabled"
	labelsSource    = "yarn.node-labels.configuration-type"
	labelsEnforced  = "yarn.node-labels.exclusive-enforced-partitions"
	amDefaultLabel  = "yarn.resourcemanager.node-labels.am.default-node-label-expression"
	emrDefaultLabel = "yarn.node-labels.am.default-node-label-expression" // Amazon EMR's name for it
	amNonExclusive  = "yarn.resourcemanager.node-labels.am.allow-non-exclusive-allocation"
)

// accessible is the start of the keys that say which labels a queue may use, and how much of each.
const accessible = "accessible-node-labels"

// AnyLabel stands for all labels in the labels that a queue may use.
const AnyLabel = "*"

// maxLabels is the most labels for which queues may have capacities. Each label has its own Tree.
const maxLabels = 256

// LabelSource says who sets the labels of nodes.
type LabelSource uint8

// Sources of labels; append only.
const (
	CentralizedLabels LabelSource = 1 + iota // administrators
	DelegatedLabels                          // a program, through the administrators' ports
	DistributedLabels                        // the NodeManagers themselves
)

func (s LabelSource) String() string {
	return pick(int(s), "", "centralized", "delegated-centralized", "distributed")
}

// LabelSettings are the settings of node labels for the whole cluster.
type LabelSettings struct {
	Enabled        bool
	Source         LabelSource
	Enforced       []string // all asks of an application with one of these labels get that label
	AMDefault      string   // the label of an AM that names none
	AMNonExclusive bool     // AMs without a label may run on the nodes of non-exclusive labels
}

// Distributed reports whether only the NodeManagers set their labels.
func (s *LabelSettings) Distributed() bool { return s.Enabled && s.Source == DistributedLabels }

// LabelCapacity is the capacity of a queue for one label.
type LabelCapacity struct {
	Label        string
	Capacity     amount.Amount
	MaxCapacity  amount.Amount
	MaxAMPercent yarn.Fraction
	template     amount.Amount // see Queue.Template
	abs          share.Share   // of all nodes of the label; zero if it depends on their resource
}

// MayUse reports whether a queue may use the nodes of a label. All queues may use nodes without a
// label.
func (q *Queue) MayUse(label string) bool {
	return label == "" || slices.Contains(q.Accessible, AnyLabel) || slices.Contains(q.Accessible, label)
}

// AccessibleLabels returns the labels that queue i may use. If labels are disabled, these are all.
func (c *Config) AccessibleLabels(i int) []string {
	if !c.LabelSettings.Enabled {
		return []string{AnyLabel}
	}
	return c.Queues[i].Accessible
}

// AccessibleText returns the labels that a queue may use, as YARN's messages write them.
func (q *Queue) AccessibleText() string { return strings.Join(q.Accessible, ",") }

// Labels returns the labels for which queues have capacities, sorted.
func (c *Config) Labels() []string {
	var out []string
	for i := range c.Queues {
		for _, l := range c.Queues[i].Labels {
			out = append(out, l.Label)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Partition returns the configuration for the nodes of one label. In it, the capacities of a queue
// are those that it has for the label. As in YARN, a queue without a capacity for the label has
// none of its nodes, even if it may use the label.
func (c *Config) Partition(label string) *Config {
	p := c.partition(label)
	p.computeShares()
	return p
}

func (c *Config) partition(label string) *Config {
	p := *c
	p.label, p.Queues = label, slices.Clone(c.Queues)
	for i := range p.Queues {
		p.Queues[i].useLabel(label)
	}
	return &p
}

// useLabel replaces the capacities of the queue with those for a label. As in YARN, a queue that
// was created by auto-queue-creation-v2 has weight 1 for each label that it may use.
func (q *Queue) useLabel(label string) {
	q.NodeOrder = q.nodeOrderFor(label)
	switch k, ok := q.findLabel(label); {
	case ok:
		l := &q.Labels[k]
		q.Capacity, q.MaxCapacity, q.MaxAMPercent, q.Template = l.Capacity, l.MaxCapacity, l.MaxAMPercent, l.template
	case q.Creation == Flexible && q.MayUse(label):
		q.Capacity, q.MaxCapacity = amount.Uniform(amount.Weight, yarn.One), amount.Amount{}
	case q.Parent >= 0:
		q.Capacity = amount.Uniform(amount.Percent, yarn.Fraction{Num: 0, Den: 1})
		q.MaxCapacity = q.Capacity
	}
}

// AddFrom adds to c, a Partition of whole, the queues that Add has added to whole.
func (c *Config) AddFrom(whole *Config) {
	for i := len(c.Queues); i < len(whole.Queues); i++ {
		q := whole.Queues[i]
		q.useLabel(c.label)
		c.Queues, c.stale = append(c.Queues, q), true
		c.Queues[q.Parent].Children = whole.Queues[q.Parent].Children
	}
}

// computeLabelShares sets the shares of labels that do not depend on the resource of the nodes.
func (c *Config) computeLabelShares() {
	for _, label := range c.Labels() {
		p := c.Partition(label)
		for i := range c.Queues {
			if k, ok := c.Queues[i].findLabel(label); ok {
				c.Queues[i].Labels[k].abs = p.shares[i].abs
			}
		}
	}
}

func (q *Queue) findLabel(label string) (int, bool) {
	return slices.BinarySearchFunc(q.Labels, label,
		func(l LabelCapacity, name string) int { return strings.Compare(l.Label, name) })
}

// AskLabel returns the label of an ask in a leaf: the label that the ask names, or else that of its
// application, or else the queue's default. If the label of an application is enforced, all its
// asks get this label. An ask for an enforced label gets the label of its application instead. Here
// and below, empty means that no label was named, and yarn.NoLabel means nodes without a label.
//
// Source: Hadoop 3.4.2, SchedulerUtils.enforcePartitionExclusivity and
// normalizeNodeLabelExpressionInRequest.
func (c *Config) AskLabel(leaf int, ofApp, asked string) string {
	asked = c.enforcedLabel(ofApp, cmp.Or(asked, ofApp))
	return strings.TrimSpace(cmp.Or(asked, c.Queues[leaf].DefaultLabel))
}

func (c *Config) enforcedLabel(ofApp, asked string) string {
	enforced := c.LabelSettings.Enforced
	if slices.Contains(enforced, strings.TrimSpace(ofApp)) || slices.Contains(enforced, strings.TrimSpace(asked)) {
		return ofApp
	}
	return asked
}

// ApplicationLabels returns the label for an application's asks that name none, in the form in
// which it is stored, and the label of its AM. As in YARN, the cluster's default for AMs takes
// precedence over the application's label.
//
// Source: Hadoop 3.4.2, RMAppManager.validateAndCreateResourceRequest.
func (c *Config) ApplicationLabels(q *Queue, asked, ofAM string, unmanaged bool) (label, am string) {
	if !c.LabelSettings.Enabled {
		return "", ""
	}
	if label = strings.TrimSpace(asked); label == "" && asked != "" {
		label = yarn.NoLabel
	}
	if !unmanaged {
		ofAM = strings.TrimSpace(c.enforcedLabel(asked, ofAM))
		am = strings.TrimSpace(cmp.Or(ofAM, c.LabelSettings.AMDefault, asked, q.DefaultLabel))
	}
	return label, am
}

// key returns the full name of a queue's key. If c is the configuration of a label, it is the key
// for this label.
func (c *Config) key(q *Queue, name string) string {
	if c.label == "" {
		return Prefix + q.Path + "." + name
	}
	return Prefix + q.Path + "." + accessible + "." + c.label + "." + name
}

// forLabel returns the end of a sentence about capacities: it names the label if c is the
// configuration of a label.
func (c *Config) forLabel() string {
	if c.label == "" {
		return ""
	}
	return " for label=" + c.label
}

func (r *reader) readLabelSettings(c *Config) {
	if c.LabelSettings.Enabled = r.bool(labelsEnabled, false); !c.LabelSettings.Enabled {
		return
	}
	s := &c.LabelSettings
	s.Source = CentralizedLabels
	switch v, ok := r.get(labelsSource); {
	case !ok || v == "centralized":
	case v == "delegated-centralized":
		s.Source = DelegatedLabels
	case v == "distributed":
		s.Source = DistributedLabels
	default:
		r.fault(labelsSource, "is not a way to give nodes labels", "write centralized, delegated-centralized or distributed")
	}
	s.Enforced = r.names(labelsEnforced)
	s.AMNonExclusive = r.bool(amNonExclusive, false)
	for _, name := range []string{emrDefaultLabel, amDefaultLabel} { // Hadoop's own key takes precedence
		if v, ok := r.get(name); ok {
			s.AMDefault = r.labelName(name, v)
		}
	}
}

// labelNamePattern is the form of a label's name, and labelNameBytes the longest name.
var labelNamePattern = regexp.MustCompile(`^[0-9a-zA-Z][0-9a-zA-Z_-]*$`)

const labelNameBytes = 255

// CheckLabelName returns YARN's error for a name that a label cannot have, or nil.
func CheckLabelName(name string) error {
	switch {
	case name == "" || len(name) > labelNameBytes:
		return fmt.Errorf("label added is empty or exceeds %d character(s)", labelNameBytes)
	case !labelNamePattern.MatchString(name):
		return fmt.Errorf(
			"label name should only contains {0-9, a-z, A-Z, -, _} and should not started with {-,_}, now it is= %s", name)
	}
	return nil
}

func (r *reader) labelName(key, name string) string {
	if err := CheckLabelName(name); err != nil {
		r.fault(key, err.Error(), "write one label")
		return ""
	}
	return name
}

// readLabels reads which labels a queue may use, and its capacity for each.
func (r *reader) readLabels(c *Config, q *Queue, key func(string) string) {
	if !c.LabelSettings.Enabled {
		return
	}
	r.readAccessible(c, q, key)
	r.readDefaultLabel(c, q, key)
	prefix := key(accessible) + "."
	for _, p := range r.under(c, prefix) {
		label, name, _ := strings.Cut(p.Name, ".")
		if !slices.Contains(labelKeys, name) {
			r.seen[prefix+p.Name] = true
			r.keys.warnUnknown(prefix+p.Name, name, labelKeys, prefix+label+".")
		} else if _, known := q.findLabel(label); !known && name != nodeOrderKey && r.labelName(prefix+p.Name, label) != "" {
			r.readLabelCapacity(c, q, label)
		}
	}
}

// labelKeys are the keys that a queue has for each label.
var labelKeys = []string{"capacity", "maximum-am-resource-percent", "maximum-capacity", nodeOrderKey}

func (r *reader) readLabelCapacity(c *Config, q *Queue, label string) {
	key := func(name string) string { return Prefix + q.Path + "." + accessible + "." + label + "." + name }
	// readCapacity writes to the usual capacities of a queue, so the capacities of the label are
	// read into a separate Queue.
	own := Queue{Path: q.Path, Parent: q.Parent}
	r.readCapacity(c, &own, key)
	if own.Capacity.Unit == amount.None {
		own.Capacity = amount.Uniform(amount.Percent, yarn.Fraction{Num: 0, Den: 1})
	}
	l := LabelCapacity{Label: label, Capacity: own.Capacity, MaxCapacity: own.MaxCapacity,
		MaxAMPercent: r.amPercent(key("maximum-am-resource-percent"), q.MaxAMPercent)}
	at, _ := q.findLabel(label)
	q.Labels = slices.Insert(q.Labels, at, l)
	if !q.MayUse(label) {
		r.warn(key("capacity"), fmt.Sprintf("%s may not use label %s, so it gets nothing of it", q.Path, label),
			"add the label to "+Prefix+q.Path+"."+accessible+", or remove the key")
	}
}

// readAccessible reads the labels that a queue may use. Without the key these are the parent's; a
// blank value means none. Root may use all labels.
func (r *reader) readAccessible(c *Config, q *Queue, key func(string) string) {
	v, set := r.raw(key(accessible))
	p := c.parentOf(q)
	if p == nil {
		q.Accessible = []string{AnyLabel}
		if set && strings.TrimSpace(v) != AnyLabel {
			r.warn(key(accessible), "root may always use all labels", "remove it")
		}
		return
	}
	if !set {
		q.Accessible = p.Accessible
		return
	}
	q.Accessible = r.names(key(accessible))
	if slices.Contains(q.Accessible, AnyLabel) {
		q.Accessible = []string{AnyLabel}
	}
	slices.Sort(q.Accessible)
	q.Accessible = slices.Compact(q.Accessible)
	r.checkAccessible(q, p, key(accessible))
}

// checkAccessible checks that a queue may use only labels that its parent may use.
func (r *reader) checkAccessible(q, p *Queue, key string) {
	if slices.Contains(p.Accessible, AnyLabel) {
		return
	}
	var more []string
	for _, l := range q.Accessible {
		if l == AnyLabel {
			r.fault(key, "Parent's accessible queue is not ANY(*), but child's accessible queue is *",
				"list the labels, or give the parent \"*\"")
			return
		}
		if !p.MayUse(l) {
			more = append(more, l)
		}
	}
	if len(more) > 0 {
		r.fault(key, fmt.Sprintf("Some labels of child queue is not a subset of parent queue, these labels=[%s]",
			strings.Join(more, ",")),
			"remove them, or add them to "+Prefix+p.Path+"."+accessible)
	}
}

// readDefaultLabel reads the label of asks that name none. Without the key it is the parent's, if
// the queue may use all labels that the parent may use.
func (r *reader) readDefaultLabel(c *Config, q *Queue, key func(string) string) {
	name := key("default-node-label-expression")
	v, set := r.raw(name)
	q.DefaultLabel = strings.TrimSpace(v)
	if p := c.parentOf(q); !set && p != nil && containsAll(q.Accessible, p.Accessible) {
		q.DefaultLabel = p.DefaultLabel
	}
	if q.Leaf && !q.MayUse(q.DefaultLabel) {
		r.fault(name,
			fmt.Sprintf("Invalid default label expression of  queue=%s doesn't have permission to access all labels in default label expression. "+
				"labelExpression of resource request=%s. Queue labels=%s", q.Path, q.DefaultLabel, q.AccessibleText()),
			"write one label that the queue may use")
	}
}

func containsAll(all, some []string) bool {
	return !slices.ContainsFunc(some, func(l string) bool { return !slices.Contains(all, l) })
}

// checkLabels checks the rules that concern several queues, for each label.
func (r *reader) checkLabels(c *Config) {
	labels := c.Labels()
	if len(labels) > maxLabels {
		r.fault(labelsEnabled, fmt.Sprintf("queues have capacities for %d labels, more than %d", len(labels), maxLabels),
			"use fewer labels")
		return
	}
	if !c.LegacyQueueMode {
		return
	}
	units := make([]amount.Unit, len(c.Queues)) // of the children of each queue
	r.checkChildUnits(c, units)
	for _, label := range labels {
		p := c.partition(label)
		r.checkUnits(c, p)
		r.checkChildUnits(p, units)
		r.checkCapacities(p)
	}
}

// checkUnits checks that a queue has absolute capacities either for no label, or for all labels
// that it has keys for and for nodes without a label.
func (r *reader) checkUnits(c, p *Config) {
	for i := range c.Queues {
		q := &p.Queues[i]
		if q.Parent >= 0 && p.divides(q) && (q.Capacity.Unit == amount.Absolute) != (c.Queues[i].Capacity.Unit == amount.Absolute) {
			r.fault(p.key(q, "capacity"), fmt.Sprintf(
				"Queue '%s' should use either percentage based capacity configuration or absolute resource.", q.Path),
				"give the queue amounts of all its labels and without a label, or of none")
		}
	}
}

// checkChildUnits checks that the children of a queue use the same unit for all labels. units has
// the units of the labels that were checked before.
func (r *reader) checkChildUnits(p *Config, units []amount.Unit) {
	for i := range p.Queues {
		q := &p.Queues[i]
		now, _ := unitsOf(p, q)
		if len(now) != 1 || !p.divides(q) {
			continue
		}
		if units[i] == amount.None {
			units[i] = now[0]
		} else if units[i] != now[0] {
			r.fault(Prefix+q.Path+".queues", fmt.Sprintf("its children use unit %s%s and unit %s elsewhere", now[0],
				p.forLabel(), units[i]),
				"use one unit for all labels and without one, or set "+Prefix+"legacy-queue-mode.enabled = false")
		}
	}
}

// divides reports whether a queue has something to divide among its children. It has nothing of a
// label that it has no keys for.
func (c *Config) divides(q *Queue) bool {
	_, ok := q.findLabel(c.label)
	return ok || c.label == "" || q.Parent < 0
}
