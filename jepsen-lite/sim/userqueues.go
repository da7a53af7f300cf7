package sim

import (
	"fmt"
	"math/rand"
	"slices"
	"strconv"

	"rmd/jepsen-lite/ledger"
)

// Queues that submissions create: below a parent of auto-queue-creation-v2 they are removed when they
// are idle; below a managed parent, of auto-create-child-queue, they have a capacity in turns, and stay
// here as in YARN, so that one that nobody uses must lose it.

// managedName is the managed parent below root, and managedCapacity what it has of the cluster, in
// percent.
const (
	managedName     = "m"
	managedCapacity = 10
)

// usersOf sets the keys of a parent whose queues users name.
func usersOf(set func(k, v string)) {
	const users, auto = prefix + "root.users.", prefix + "root.users.auto-queue-creation-v2."
	set(users+"capacity", "0")
	for _, label := range nodeLabels {
		set(users+"accessible-node-labels."+label.Name+".capacity", "0")
	}
	set(auto+"enabled", "true")
	set(auto+"template.maximum-applications", "1000")
	set(users+"*.auto-queue-creation-v2.template.maximum-applications", "1000")
	set(prefix+"auto-queue-creation-v2.queue-expiration-time", "3")
}

// managedOf sets the keys of a managed parent, and the rule that leads users below it. What it has is
// taken from the largest of the other queues. How many of its leaves are active at a time follows from
// their shares: 1, 2 or 10.
func (w *world) managedOf(queues []queue, set func(k, v string)) []queue {
	const m, template = prefix + "root." + managedName + ".", prefix + "root." + managedName + ".leaf-queue-template."
	set(m+"capacity", strconv.Itoa(managedCapacity))
	set(m+"maximum-capacity", "100")
	set(m+"auto-create-child-queue.enabled", "true")
	set(template+"capacity", queues[0].capacity)
	set(template+"maximum-capacity", "100")
	set(template+"user-limit-factor", "10")
	set(template+"auto-queue-creation-v2.queue-auto-removal.enable", "false")
	for _, label := range nodeLabels {
		set(m+"accessible-node-labels."+label.Name+".capacity", strconv.Itoa(managedCapacity))
		set(template+"accessible-node-labels."+label.Name+".capacity", queues[0].capacity)
	}
	set("yarn.resourcemanager.monitor.capacity.queue-management.monitoring-interval", "1000")
	set(prefix+"queue-mappings", "u:%user:root."+managedName+".%user")
	queues = slices.Clone(queues)
	largest, capacity := 0, 0
	for i, q := range queues {
		if c, err := strconv.Atoi(q.capacity); err == nil && c > capacity {
			largest, capacity = i, c
		}
	}
	queues[largest].capacity = strconv.Itoa(capacity - managedCapacity)
	return queues
}

// destination is the queue that a client names: one of the configuration, one that its submission
// creates unless it exists, or none, so that the rule leads to its leaf of the managed parent.
func (w *world) destination(rng *rand.Rand, user string) string {
	q := w.opt.queues[rng.Intn(len(w.opt.queues))].name
	if w.opt.users {
		q = userQueue(rng, q, user)
	}
	if w.opt.managed && rng.Intn(3) == 0 {
		return ""
	}
	return q
}

// userQueue is a queue that a submission creates, unless it exists, or another one.
func userQueue(rng *rand.Rand, other, user string) string {
	switch rng.Intn(4) {
	case 0:
		return "root.users." + user
	case 1:
		return fmt.Sprintf("root.users.g%d.%s", rng.Intn(2), user)
	}
	return other
}

// idleQueues says what nobody uses and should be gone: a queue that is removed when it is idle, or the
// capacity of a managed parent's leaf. Empty: nothing.
func idleQueues(l *ledger.Ledger) string {
	for _, q := range l.DynamicQueues() {
		switch {
		case !q.Managed:
			return fmt.Sprintf("dynamic queue %s has %d applications and is not removed", q.Path, q.Apps)
		case q.Active && q.Apps == 0:
			return fmt.Sprintf("leaf %s of a managed parent keeps its capacity without applications", q.Path)
		}
	}
	return ""
}
