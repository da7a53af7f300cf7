package capacity

import (
	"fmt"
	"slices"
	"strings"
)

// NodeOrder says which node gets the container of an ask, among those that the ask may use at its
// best locality. Package scheduler describes the orders. Passes on the heartbeats of nodes have no
// choice, so they do not use it.
type NodeOrder uint8

// The orders; append only.
const (
	NodeOrderAuto     NodeOrder = iota // pack where large containers are asked for, otherwise spread
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

// Keys of the order of nodes. The second and the following are YARN's, which names an order by the
// class that implements it.
const (
	nodeOrderKey     = "node-order"
	multiNodeEnabled = Prefix + "multi-node-placement-enabled"
	multiNodePolicy  = "multi-node-sorting.policy"
	multiNodeNames   = Prefix + multiNodePolicy + ".names"
)

// multiNodeClasses are the classes for multi-node-sorting that Hadoop ships, with their orders.
var multiNodeClasses = map[string]NodeOrder{"ResourceUsageMultiNodeLookupPolicy": NodeOrderSpread}

// readNodeOrder reads the order of nodes of a queue and, for each label, where it differs. Without
// keys the parent's orders count; root has those of the cluster.
func (r *reader) readNodeOrder(c *Config, q *Queue, key func(string) string) {
	switch p := c.parentOf(q); {
	case p != nil:
		q.NodeOrder, q.labelOrders = p.NodeOrder, p.labelOrders
	default:
		r.orderOf(Prefix, &q.NodeOrder)
	}
	if r.orderOf(key(""), &q.NodeOrder) {
		q.labelOrders = nil
	}
	q.labelOrders = slices.Clone(q.labelOrders)
	for _, p := range r.under(c, key(accessible)+".") {
		if label, name, _ := strings.Cut(p.Name, "."); name == nodeOrderKey && c.LabelSettings.Enabled {
			order := q.NodeOrder
			r.orderNamed(key(accessible)+"."+p.Name, &order)
			q.labelOrders = slices.DeleteFunc(q.labelOrders, func(l labelOrder) bool { return l.label == label })
			q.labelOrders = append(q.labelOrders, labelOrder{label, order})
		}
	}
}

// orderOf reads an order under a prefix: from rmd's key or else from YARN's. It reports whether
// there is one.
func (r *reader) orderOf(prefix string, order *NodeOrder) bool {
	policy := r.orderOfPolicy(prefix+multiNodePolicy, order)
	return r.orderNamed(prefix+nodeOrderKey, order) || policy
}

func (r *reader) orderNamed(name string, order *NodeOrder) bool {
	v, ok := r.get(name)
	if !ok {
		return false
	}
	i := slices.Index(nodeOrders, v)
	if i < 0 {
		r.fault(name, "is not an order of nodes", "write "+strings.Join(nodeOrders, ", "))
		return false
	}
	*order = NodeOrder(i)
	return true
}

// orderOfPolicy reads the name of a policy for multi-node-sorting, and from the policy's class its
// order. As in YARN, the policy counts only while multi-node placement is enabled.
func (r *reader) orderOfPolicy(name string, order *NodeOrder) bool {
	policy, ok := r.get(name)
	if !r.bool(multiNodeEnabled, false) || !ok {
		return false
	}
	if !slices.Contains(r.names(multiNodeNames), policy) {
		r.warn(name, fmt.Sprintf("%s does not name the policy, so the order of nodes stays as it is", multiNodeNames), "add it there, or set node-order")
		return false
	}
	classKey := Prefix + multiNodePolicy + "." + policy + ".class"
	class, _ := r.get(classKey)
	found, known := multiNodeClasses[class[strings.LastIndexByte(class, '.')+1:]]
	if !known {
		r.warn(classKey, "is not a class that Hadoop ships, so the order of nodes stays as it is", "set node-order to "+strings.Join(nodeOrders, ", "))
		return false
	}
	*order = found
	return true
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
