package capacity

//lint:file-ignore ST1005 the sentences of managedChild are YARN's

import (
	"fmt"
	"strings"

	"rmd/scheduler/capacity/amount"
	"rmd/scheduler/capacity/property"
	"rmd/scheduler/capacity/share"
	"rmd/yarn"
)

const (
	managed        = "auto-create-child-queue."
	managedTmpl    = "leaf-queue-template."
	managedPolicy  = "GuaranteedOrZeroCapacityOverTimePolicy"
	manageInterval = "yarn.resourcemanager.monitor.capacity.queue-management.monitoring-interval"
)

// readManaged reads the keys of auto-create-child-queue, and reports whether they make q a managed
// parent, whose leaves submissions create.
func (r *reader) readManaged(c *Config, q *Queue, key func(string) string, a *AutoCreate) bool {
	on := r.bool(key(managed+"enabled"), false) && q.Creation == Static
	most := r.int(key(managed+"max-queues"), 1000, 0, MaxDynamicQueues)
	fail := r.bool(key(managed+"fail-on-exceeding-parent-capacity"), false)
	policy, _ := r.get(key(managed + "management-policy"))
	for _, p := range property.Below(c.properties, Prefix+q.Path+"."+managedTmpl) {
		r.seen[p.Name] = true
		if on {
			a.LeafTemplate = append(a.LeafTemplate, Property{Name: p.Name[len(Prefix+q.Path+"."+managedTmpl):], Value: p.Value,
				Origin: p.Name})
		}
	}
	if !on {
		return false
	}
	a.By, a.MaxQueues, a.FailBeyond = Legacy, most, fail
	if policy != "" && policy[strings.LastIndexByte(policy, '.')+1:] != managedPolicy {
		r.faultAs(key(managed+"management-policy"), "is a policy that rmd does not have",
			"remove it: "+managedPolicy+" is the only one",
			"Could not instantiate AutoCreatedQueueManagementPolicy: "+policy+" for queue: "+q.Path)
	}
	if len(q.Children) > 0 {
		r.fault(key("queues"), "a queue with "+managed+
			"enabled has no queues of the configuration: submissions create its leaves",
			"remove it, or use auto-queue-creation-v2, which allows both")
	}
	if q.Parent < 0 {
		r.fault(key(managed+"enabled"), "root cannot have it", "set it on a queue below root")
	}
	return true
}

// faultAs adds a fault for which YARN has a message.
func (r *values) faultAs(name, what, do, yarn string) {
	r.fault(name, what, do)
	r.faults[len(r.faults)-1].YARN = yarn
}

// managedSettings returns the keys of a leaf below a managed parent. They override those that the
// configuration has for the leaf's own path.
func (a *AutoCreate) managedSettings(path string) []Property {
	out := make([]Property, 0, len(a.LeafTemplate))
	for _, p := range a.LeafTemplate {
		p.Name = Prefix + path + "." + p.Name
		out = append(out, p)
	}
	return out // in the order of the template, which is sorted
}

// checkManaged reads a trial leaf below a managed parent, and computes how many leaves may be
// active.
func (r *reader) checkManaged(c *Config, i int) {
	q := &c.Queues[i]
	if q.Parent < 0 {
		return
	}
	like := c.newDynamic(i, q.Path+"."+anyQueue, true)
	like.Active = true
	r.readDynamic(c, &like)
	r.checkMinMax(c, &like)
	for _, p := range q.AutoCreate.LeafTemplate {
		if !r.seen[Prefix+like.Path+"."+p.Name] {
			r.keys.warnUnknown(p.Origin, p.Name, queueKeys, strings.TrimSuffix(p.Origin, p.Name))
		}
	}
	key := Prefix + q.Path + "." + managedTmpl
	q.AutoCreate.Room = MaxDynamicQueues
	r.roomFor(q, like.Capacity, q.Capacity, key+"capacity")
	for _, l := range like.Labels {
		k, ok := q.findLabel(l.Label)
		name := key + accessible + "." + l.Label + ".capacity"
		if !ok && !q.MayUse(l.Label) {
			r.faultAs(name, fmt.Sprintf("%s may not use label %s", q.Path, l.Label), "remove it, or let the queue use the label",
				fmt.Sprintf("Invalid node label %s on configured leaf template on parent queue %s", l.Label, q.Path))
			continue
		}
		var above amount.Amount
		if ok {
			above = q.Labels[k].Capacity
		}
		r.roomFor(q, l.Capacity, above, name)
	}
}

// roomFor lowers the number of leaves that may be active to the number that fits into above, the
// capacity of the parent. The sum of percentages may exceed the parent's capacity by a
// ten-thousandth. YARN lets it exceed by a thousandth of the cluster (CSQueueUtils.EPSILON).
func (r *reader) roomFor(q *Queue, leaf, above amount.Amount, name string) {
	const tolerance = 10_001
	for k, part := range leaf.Parts {
		if part.Value.Num == 0 {
			continue
		}
		room := int64(0)
		switch part.Unit {
		case amount.Percent:
			room = share.New(tolerance, 10_000).Div(share.Of(share.OfPercent(part.Value))).MulFloor(1)
		case amount.Absolute:
			if above.Unit != amount.Absolute {
				r.faultAs(name, "is a vector, and the capacity of "+q.Path+" is not", "write a percentage, or give both a vector",
					fmt.Sprintf("Managed Parent Queue %s config type is different from leaf queue template config type", q.Path))
				return
			}
			room = above.Parts[k].Value.MulFloor(1) / max(part.Value.MulFloor(1), 1)
		default:
			r.fault(name, "is a weight, which leaves below a parent with auto-create-child-queue cannot have",
				"write a percentage of the parent, or use auto-queue-creation-v2")
			return
		}
		q.AutoCreate.Room = min(q.AutoCreate.Room, room)
	}
}

// deactivate removes the guarantee of a queue, and keeps it as the template.
func (q *Queue) deactivate() {
	q.Template, q.Capacity = q.Capacity, q.Capacity.Zeroed()
	for i := range q.Labels {
		l := &q.Labels[i]
		l.template, l.Capacity = l.Capacity, l.Capacity.Zeroed()
	}
}

// usualMin returns the guarantee that an inactive leaf would have if it were active. As in YARN,
// the use of the leaf is measured by it.
func (c *Config) usualMin(t *Tree, i int) yarn.Resource {
	q := &c.Queues[i]
	switch q.Template.Unit {
	case amount.Percent:
		return share.Of(share.OfPercent(q.Template.Value)).Floor(t.Capacities[q.Parent].EffMin)
	case amount.Absolute:
		return q.Template.Absolute()
	}
	return yarn.Resource{}
}

// Measure returns the resource by which the use of a queue is measured: its guarantee, or for an
// inactive leaf the guarantee that it would have.
func (e *Capacity) Measure() yarn.Resource {
	if e.EffMin.IsZero() {
		return e.usualMin
	}
	return e.EffMin
}

// managedChild returns the reason why a managed parent can have no further leaf, or nil.
//
// Source: Hadoop 3.4.2, ManagedParentQueue.addChildQueue.
func (c *Config) managedChild(p *Queue, path string) error {
	n := int64(len(p.Children))
	if n >= p.AutoCreate.MaxQueues {
		return fmt.Errorf("Cannot auto create leaf queue %s.Max Child Queue limit exceeded which is configured as : %d and number of child queues is : %d", path, p.AutoCreate.MaxQueues, n)
	}
	if len(c.Queues) >= MaxDynamicQueues {
		return fmt.Errorf("Cannot auto create leaf queue %s. The cluster has its maximum of %d queues", path,
			MaxDynamicQueues)
	}
	if p.AutoCreate.FailBeyond && c.ActiveBelow(p) >= p.AutoCreate.Room {
		return fmt.Errorf(
			"Cannot auto create leaf queue %s. Child queues capacities have reached parent queue : %s's guaranteed capacity",
			path, p.Path)
	}
	return nil
}

// ActiveBelow returns the number of active leaves of a managed parent.
func (c *Config) ActiveBelow(p *Queue) (n int64) {
	for _, i := range p.Children {
		if c.Queues[i].Active {
			n++
		}
	}
	return n
}

// LeafQueueTemplate returns the keys of a queue's leaf-queue-template, even if the template has no
// effect. The names start with "leaf-queue-template.".
func (c *Config) LeafQueueTemplate(path string) []Property {
	var out []Property
	for _, p := range property.Below(c.properties, Prefix+path+"."+managedTmpl) {
		out = append(out, Property{Name: strings.TrimPrefix(p.Name, Prefix+path+"."), Value: p.Value})
	}
	return out
}

// validateManaged refuses, as YARN does, to make a parent a managed parent or a managed parent
// another queue.
func (q *Queue) validateManaged(was *Queue, faults *[]Fault) {
	name := Prefix + q.Path + "." + managed + "enabled"
	switch from, to := was.ChildrenBy() == Legacy, q.ChildrenBy() == Legacy; {
	case from == to || was.Leaf:
	case to:
		*faults = append(*faults, Fault{Name: name, What: "a parent cannot become one with auto-create-child-queue",
			Do:   "add another queue for it",
			YARN: fmt.Sprintf("Can not convert parent queue: %s to auto create enabled parent queue since it could have other pre-configured queues which is not supported", q.Path)})
	default:
		*faults = append(*faults, Fault{Name: name, What: "a parent with auto-create-child-queue cannot become another queue",
			Do:   "keep it, or stop the queue and remove it",
			YARN: fmt.Sprintf("Cannot convert auto create enabled parent queue: %s to leaf queue. Please check  parent queue's configuration auto-create-child-queue.enabled is set to true", q.Path)})
	}
}

// noteManaged sets ManageMillis to 0 if there are no managed parents.
func (c *Config) noteManaged() {
	for i := range c.Queues {
		if c.Queues[i].ChildrenBy() == Legacy {
			return
		}
	}
	c.ManageMillis = 0
}
