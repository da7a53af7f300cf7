package settings

import (
	"slices"
	"strconv"
	"time"

	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
)

const prefix = capacity.Prefix

// FirstQueues returns the first queue configuration.
func (o Cluster) FirstQueues() []capacity.Property {
	var out []capacity.Property
	for _, p := range o.Properties(o.Queues, o.Preempt) {
		out = append(out, capacity.Property{Name: p.Name, Value: p.Value})
	}
	return out
}

// Properties returns the properties of queues, timeouts of nodes, AMs and containers, and the
// interval of new keys.
func (o Cluster) Properties(queues []Queue, preempt bool) []input.Property {
	var props []input.Property
	set := func(k, v string) { props = append(props, input.Property{Name: k, Value: v}) }
	names := ""
	if o.Managed {
		queues = o.managedOf(queues, set)
		names = managedName + ","
	}
	for i, q := range queues {
		if i > 0 {
			names += ","
		}
		names += q.Name
		set(prefix+"root."+q.Name+".capacity", q.Capacity)
		set(prefix+"root."+q.Name+".maximum-capacity", "100")
		set(prefix+"root."+q.Name+".user-limit-factor", "10")
		for _, label := range Labels {
			set(prefix+"root."+q.Name+".accessible-node-labels."+label.Name+".capacity", q.Capacity)
		}
	}
	if o.Users {
		names += ",users"
		usersOf(set)
	}
	set("yarn.node-labels.enabled", "true")
	set(prefix+"root.queues", names)
	set(prefix+"maximum-am-resource-percent", "1")
	expiry := func(of string, d time.Duration) {
		set(of+".expiry-interval-ms", strconv.FormatInt(d.Milliseconds(), 10))
	}
	expiry("yarn.nm.liveness-monitor", NodeExpiry)
	expiry("yarn.am.liveness-monitor", AttemptExpiry)
	expiry("yarn.resourcemanager.rm.container-allocation", containerExpiry)
	for _, of := range []string{"container-tokens", "nm-tokens", "am-rm-tokens"} {
		set("yarn.resourcemanager."+of+".master-key-rolling-interval-secs", strconv.Itoa(int(KeyRoll.Seconds())))
	}
	set("yarn.resourcemanager.delegation.key.update-interval", strconv.FormatInt(KeyRoll.Milliseconds(), 10))
	if preempt {
		o.preemptionOf(queues, set)
	}
	if o.Backfill != "" {
		set(prefix+"root.backfill", o.Backfill)
	}
	if o.ReserveNode != "" {
		set(prefix+"reservation.node", o.ReserveNode)
	}
	if o.NodeOrder != "" {
		o.nodeOrderOf(set)
	}
	if o.LazyCancel {
		set(prefix+"reservation.eager-cancel", "false")
	}
	if o.Dominant {
		set(prefix+"resource-calculator", "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator")
	}
	return props
}

// nodeOrderOf sets the order of nodes. One label has another one.
func (o Cluster) nodeOrderOf(set func(k, v string)) {
	orders := capacity.NodeOrders()
	other := orders[(slices.Index(orders, o.NodeOrder)+1)%len(orders)]
	set(prefix+"node-order", o.NodeOrder)
	set(prefix+"root.accessible-node-labels."+Labels[0].Name+".node-order", other)
}
