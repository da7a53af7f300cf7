package settings

import (
	"fmt"
	"math/rand"
	"slices"
	"strconv"
)

// Queues that submissions create. Below a parent with auto-queue-creation-v2, idle queues are
// removed. Below a managed parent (auto-create-child-queue), leaves are never removed here, as in
// YARN. They take turns in having a capacity, and a leaf without applications must lose it.

// managedName is the managed parent below root. managedCapacity is its capacity in percent.
const (
	managedName     = "m"
	managedCapacity = 10
)

// usersOf sets the properties of root.users, below which submissions create queues.
func usersOf(set func(k, v string)) {
	const users, auto = prefix + "root.users.", prefix + "root.users.auto-queue-creation-v2."
	set(users+"capacity", "0")
	for _, label := range Labels {
		set(users+"accessible-node-labels."+label.Name+".capacity", "0")
	}
	set(auto+"enabled", "true")
	set(auto+"template.maximum-applications", "1000")
	set(users+"*.auto-queue-creation-v2.template.maximum-applications", "1000")
	set(prefix+"auto-queue-creation-v2.queue-expiration-time", "3")
}

// managedOf sets the properties of a managed parent and the placement rule for its leaves. It
// returns queues after it has taken the parent's capacity from the largest of them. The capacity of
// the template determines how many leaves are active at a time: 1, 2 or 10.
func (o Cluster) managedOf(queues []Queue, set func(k, v string)) []Queue {
	const m, template = prefix + "root." + managedName + ".", prefix + "root." + managedName + ".leaf-queue-template."
	set(m+"capacity", strconv.Itoa(managedCapacity))
	set(m+"maximum-capacity", "100")
	set(m+"auto-create-child-queue.enabled", "true")
	set(template+"capacity", queues[0].Capacity)
	set(template+"maximum-capacity", "100")
	set(template+"user-limit-factor", "10")
	set(template+"auto-queue-creation-v2.queue-auto-removal.enable", "false")
	for _, label := range Labels {
		set(m+"accessible-node-labels."+label.Name+".capacity", strconv.Itoa(managedCapacity))
		set(template+"accessible-node-labels."+label.Name+".capacity", queues[0].Capacity)
	}
	set("yarn.resourcemanager.monitor.capacity.queue-management.monitoring-interval", "1000")
	set(prefix+"queue-mappings", "u:%user:root."+managedName+".%user")
	queues = slices.Clone(queues)
	largest, capacity := 0, 0
	for i, q := range queues {
		if c, err := strconv.Atoi(q.Capacity); err == nil && c > capacity {
			largest, capacity = i, c
		}
	}
	queues[largest].Capacity = strconv.Itoa(capacity - managedCapacity)
	return queues
}

// Destination returns the queue that a client names: a configured one, one that the submission
// creates if it does not exist, or "". With "", the placement rule chooses the user's leaf of the
// managed parent.
func (o Cluster) Destination(rng *rand.Rand, user string) string {
	q := o.Queues[rng.Intn(len(o.Queues))].Name
	if o.Users {
		q = userQueue(rng, q, user)
	}
	if o.Managed && rng.Intn(3) == 0 {
		return ""
	}
	return q
}

// userQueue returns a queue of the user that a submission creates if it does not exist, or other.
func userQueue(rng *rand.Rand, other, user string) string {
	switch rng.Intn(4) {
	case 0:
		return "root.users." + user
	case 1:
		return fmt.Sprintf("root.users.g%d.%s", rng.Intn(2), user)
	}
	return other
}
