package capacity

import (
	"fmt"
	"slices"
	"strings"

	"rmd/internal/clip"
	"rmd/scheduler/capacity/property"
	"rmd/scheduler/capacity/unhonored"
)

// NodeOrder says which node gets the container of an ask, among those that the ask may use at its
// best locality. Package scheduler describes the orders. Passes on the heartbeats of nodes have no
// choice, so they do not use it.
type NodeOrder uint8

// The orders; append only.
const (
	NodeOrderAuto     NodeOrder = iota // pack or lifetime where large containers are asked for, otherwise spread
	NodeOrderSpread                    // the emptiest node
	NodeOrderPack                      // the node with the least left over
	NodeOrderLifetime                  // the node whose containers end at about the same time
)

// NodeOrders returns the names of the orders.
func NodeOrders() []string { return slices.Clone(nodeOrders) }

// nodeOrders are the names of the orders, by number.
var nodeOrders = []string{"auto", "spread", "pack", "lifetime"}

func (o NodeOrder) String() string { return pick(int(o), nodeOrders...) }

// labelOrder is the order of a queue for the nodes of one label.
type labelOrder struct {
	label string
	order NodeOrder
}

// Keys of the order of nodes. The second and the following are YARN's, which has named policies and
// implements each by a class.
const (
	nodeOrderKey     = "node-order"
	multiNodeEnabled = Prefix + "multi-node-placement-enabled"
	multiNodePolicy  = "multi-node-sorting.policy"
	multiNodeNames   = Prefix + multiNodePolicy + ".names"
	classSuffix      = ".class"
	intervalSuffix   = ".sorting-interval.ms"
)

// Why some of YARN's keys have no effect.
const (
	whySorted       = "nodes are always in order, so there is no interval"
	whyMultiNodeOff = multiNodeEnabled + " is not true"
)

// resourceUsage is the class of YARN's policy "default".
const resourceUsage = "ResourceUsageMultiNodeLookupPolicy"

// multiNodeClasses are the classes of policies that Hadoop ships, without their package, and their
// orders.
//
// Source: Hadoop 3.4.2 and 3.5.0, the implementations of MultiNodeLookupPolicy.
var multiNodeClasses = map[string]NodeOrder{resourceUsage: NodeOrderSpread}

// readMultiNode reads whether YARN's policies count, and reports those of their keys that have no
// effect.
func (r *reader) readMultiNode(c *Config) {
	c.multiNode = r.multiNodeEnabled()
	for _, p := range property.Below(c.properties, Prefix+multiNodePolicy+".") {
		interval := strings.HasSuffix(p.Name, intervalSuffix)
		if !interval && p.Name != multiNodeNames && !strings.HasSuffix(p.Name, classSuffix) {
			continue
		}
		switch v, ok := r.get(p.Name); {
		case !ok || interval && v == "1000":
		case interval:
			r.ignore(p.Name, whySorted, unhonored.Harmless)
		case !c.multiNode:
			r.ignore(p.Name, whyMultiNodeOff, unhonored.Harmless)
		}
	}
}

// multiNodeEnabled reads the switch of YARN's policies. As in YARN, any value but true means false.
func (r *reader) multiNodeEnabled() bool {
	v, ok := r.get(multiNodeEnabled)
	on := strings.EqualFold(v, "true")
	if ok && !on && !strings.EqualFold(v, "false") {
		r.ruleFault(multiNodeEnabled, "is not true or false", "write true or false")
	}
	return on
}

// readNodeOrder reads the order of nodes of a queue and, for each label, where it differs. Without
// keys the parent's orders count; root has those of the cluster.
func (r *reader) readNodeOrder(c *Config, q *Queue, key func(string) string) {
	switch p := c.parentOf(q); {
	case p != nil:
		q.NodeOrder, q.labelOrders = p.NodeOrder, p.labelOrders
	default:
		r.orderOf(c, Prefix, &q.NodeOrder)
	}
	if r.orderOf(c, key(""), &q.NodeOrder) {
		q.labelOrders = nil
	}
	if c.LabelSettings.Enabled {
		r.readLabelOrders(c, q, key(accessible)+".")
	}
}

func (r *reader) readLabelOrders(c *Config, q *Queue, prefix string) {
	q.labelOrders = slices.Clone(q.labelOrders)
	for _, p := range r.under(c, prefix) {
		label, name, _ := strings.Cut(p.Name, ".")
		order, full := q.NodeOrder, prefix+p.Name
		if name != nodeOrderKey || r.labelName(full, label) == "" || !r.orderNamed(full, &order) {
			continue
		}
		if !q.MayUse(label) {
			r.warn(full, fmt.Sprintf("%s may not use label %s, so the order has no effect", q.Path, label),
				"add the label to "+strings.TrimSuffix(prefix, ".")+", or remove the key")
		}
		q.labelOrders = slices.DeleteFunc(q.labelOrders, func(l labelOrder) bool { return l.label == label })
		q.labelOrders = append(q.labelOrders, labelOrder{label, order})
	}
}

// orderOf reads an order under a prefix: from rmd's key or else from YARN's. It reports whether
// there is one.
func (r *reader) orderOf(c *Config, prefix string, order *NodeOrder) bool {
	policy := r.orderOfPolicy(c, prefix+multiNodePolicy, order)
	return r.orderNamed(prefix+nodeOrderKey, order) || policy
}

func (r *reader) orderNamed(name string, order *NodeOrder) bool {
	v, ok := r.get(name)
	if !ok {
		return false
	}
	i := slices.Index(nodeOrders, v)
	if i < 0 {
		r.ruleFault(name, "is not an order of nodes", "write "+orderChoice())
		return false
	}
	*order = NodeOrder(i)
	return true
}

// orderChoice lists the names of the orders for a sentence.
func orderChoice() string {
	last := len(nodeOrders) - 1
	return strings.Join(nodeOrders[:last], ", ") + " or " + nodeOrders[last]
}

// orderOfPolicy reads the name of one of YARN's policies, and its order from its class. As in YARN,
// the class must be that of a policy that is listed by name. In YARN the children of a queue do not
// inherit its policy; here they inherit its order, like that of node-order.
//
// Source: Hadoop 3.4.2, CapacitySchedulerConfiguration.getMultiNodesSortingAlgorithmPolicy and
// MultiNodeSortingManager.getMultiNodeSortIterator.
func (r *reader) orderOfPolicy(c *Config, name string, order *NodeOrder) bool {
	policy, ok := r.get(name)
	switch {
	case !ok:
		return false
	case !c.multiNode:
		r.ignore(name, whyMultiNodeOff, unhonored.Harmless)
		return false
	}
	class := r.classOfPolicy(policy)
	found, known := multiNodeClasses[class[strings.LastIndexByte(class, '.')+1:]]
	listed := slices.ContainsFunc(r.names(multiNodeNames), func(n string) bool { return r.classOfPolicy(n) == class })
	switch {
	case class == "":
		r.warnPolicy(name, "the policy has no class",
			"set "+Prefix+multiNodePolicy+"."+clip.Text(policy)+classSuffix+", or node-order")
	case !known:
		r.warnPolicy(name, fmt.Sprintf("the policy's class %s is not one that Hadoop ships", clip.Text(class)),
			"set node-order to "+orderChoice())
	case !listed:
		r.warnPolicy(name, multiNodeNames+" does not list the policy", "add it there, or set node-order")
	default:
		*order = found
		return true
	}
	return false
}

func (r *reader) warnPolicy(name, what, do string) {
	r.warn(name, what+", so the order of nodes stays as it is", do)
}

// classOfPolicy returns the class of one of YARN's policies, or "". Only "default" has one without a
// key.
func (r *reader) classOfPolicy(policy string) string {
	class, ok := r.get(Prefix + multiNodePolicy + "." + policy + classSuffix)
	if !ok && policy == "default" {
		return resourceUsage
	}
	return class
}

// nodeOrderFor returns the order of a queue for the nodes of a label.
func (q *Queue) nodeOrderFor(label string) NodeOrder {
	for _, l := range q.labelOrders {
		if l.label == label {
			return l.order
		}
	}
	return q.NodeOrder
}
