package sim

import (
	"slices"
	"strconv"
	"time"

	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
)

const prefix = "yarn.scheduler.capacity."

// firstQueues returns the first queue configuration.
func (o settings) firstQueues() []capacity.Property {
	var out []capacity.Property
	for _, p := range o.propertiesOf(o.queues, o.preempt) {
		out = append(out, capacity.Property{Name: p.Name, Value: p.Value})
	}
	return out
}

// propertiesOf returns the properties of queues, timeouts of nodes, AMs and containers, and the
// interval of new keys.
func (o settings) propertiesOf(queues []queue, preempt bool) []input.Property {
	var props []input.Property
	set := func(k, v string) { props = append(props, input.Property{Name: k, Value: v}) }
	names := ""
	if o.managed {
		queues = o.managedOf(queues, set)
		names = managedName + ","
	}
	for i, q := range queues {
		if i > 0 {
			names += ","
		}
		names += q.name
		set(prefix+"root."+q.name+".capacity", q.capacity)
		set(prefix+"root."+q.name+".maximum-capacity", "100")
		set(prefix+"root."+q.name+".user-limit-factor", "10")
		for _, label := range nodeLabels {
			set(prefix+"root."+q.name+".accessible-node-labels."+label.Name+".capacity", q.capacity)
		}
	}
	if o.users {
		names += ",users"
		usersOf(set)
	}
	set("yarn.node-labels.enabled", "true")
	set(prefix+"root.queues", names)
	set(prefix+"maximum-am-resource-percent", "1")
	expiry := func(of string, d time.Duration) {
		set(of+".expiry-interval-ms", strconv.FormatInt(d.Milliseconds(), 10))
	}
	expiry("yarn.nm.liveness-monitor", nodeExpiry)
	expiry("yarn.am.liveness-monitor", attemptExpiry)
	expiry("yarn.resourcemanager.rm.container-allocation", containerExpiry)
	for _, of := range []string{"container-tokens", "nm-tokens", "am-rm-tokens"} {
		set("yarn.resourcemanager."+of+".master-key-rolling-interval-secs", strconv.Itoa(int(keyRoll.Seconds())))
	}
	set("yarn.resourcemanager.delegation.key.update-interval", strconv.FormatInt(keyRoll.Milliseconds(), 10))
	if preempt {
		o.preemptionOf(queues, set)
	}
	if o.backfill != "" {
		set(prefix+"root.backfill", o.backfill)
	}
	if o.reserveNode != "" {
		set(prefix+"reservation.node", o.reserveNode)
	}
	if o.nodeOrder != "" {
		o.nodeOrderOf(set)
	}
	if o.lazyCancel {
		set(prefix+"reservation.eager-cancel", "false")
	}
	if o.dominant {
		set(prefix+"resource-calculator", "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator")
	}
	return props
}

// nodeOrderOf sets the order of nodes. One label has another one.
func (o settings) nodeOrderOf(set func(k, v string)) {
	orders := capacity.NodeOrders()
	other := orders[(slices.Index(orders, o.nodeOrder)+1)%len(orders)]
	set(prefix+"node-order", o.nodeOrder)
	set(prefix+"root.accessible-node-labels."+nodeLabels[0].Name+".node-order", other)
}
