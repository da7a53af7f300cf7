package settings

// Preemption has the cluster-wide settings of preemption.
type Preemption struct {
	On            bool
	Reserves      bool  // the selector reserves the room of the containers
	WaitMillis    int64 // from a warning to the end
	Inside        bool  // preemption inside queues is on
	ByPriority    bool  // queues take from queues of a lower priority
	Moves         bool  // their reservations may move to other nodes
	DelayMillis   int64 // the age at which their reservations count
	Balance       bool  // preemption for balance is on
	BalanceMillis int64 // from a warning for balance to the end
}

// MovesToFullNodes reports whether a reservation may move to a node without room, on which a later
// round chooses containers.
func (r *Preemption) MovesToFullNodes() bool { return r.Moves && !r.Reserves }

// Preemption returns the cluster-wide settings of preemption.
func (p Properties) Preemption() Preemption {
	r := Preemption{WaitMillis: 15_000, Reserves: true, DelayMillis: 60_000, BalanceMillis: 300_000}
	const (
		monitor       = "yarn.resourcemanager.monitor.capacity.preemption."
		underutilized = prefix + "ordering-policy.priority-utilization.underutilized-preemption."
		balance       = monitor + "preemption-to-balance-queue-after-satisfied."
	)
	for _, property := range p {
		switch property.Name {
		case "yarn.resourcemanager.scheduler.monitor.enable":
			r.On = isWord(property.Value, "true")
		case prefix + "preemption.selector":
			r.Reserves = property.Value != "yarn"
		case monitor + "max_wait_before_kill":
			r.WaitMillis = count(property.Value)
		case monitor + "intra-queue-preemption.enabled":
			r.Inside = isWord(property.Value, "true")
		case underutilized + "enabled":
			r.ByPriority = isWord(property.Value, "true")
		case underutilized + "allow-move-reservation":
			r.Moves = isWord(property.Value, "true")
		case underutilized + "reserved-container-delay-ms":
			r.DelayMillis = count(property.Value)
		case balance + "enabled":
			r.Balance = isWord(property.Value, "true")
		case balance + "max-wait-before-kill":
			r.BalanceMillis = count(property.Value)
		}
	}
	return r
}

// ForbidsPreemption returns whether other queues may not take containers of a queue, and whether its
// applications may not take from each other. A queue without the keys has what its parent has.
func (p Properties) ForbidsPreemption(path string, parent Forbidden) Forbidden {
	read := func(key string, inherited bool) bool {
		if text := p.OfQueue(path, key); text != "" {
			return isWord(text, "true")
		}
		return inherited
	}
	return Forbidden{
		Across: read("disable_preemption", parent.Across),
		Inside: read("intra-queue-preemption.disable_preemption", parent.Inside),
	}
}

// Forbidden says from whom preemption may not take containers of a queue.
type Forbidden struct {
	Across bool // other queues may not take its containers
	Inside bool // its applications may not take from each other
}
