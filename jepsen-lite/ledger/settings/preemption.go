package settings

import (
	"math/big"
	"strings"
)

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

	Observes          bool     // rounds take nothing
	IntervalMillis    int64    // between two rounds
	ReservationMillis int64    // the age from which a reservation may ask for preemption
	GuaranteeMillis   int64    // the time after which a queue has its guarantee; -1: none
	KeepMillis        int64    // for how long a guarantee is kept for which containers ended
	PerRound          *big.Rat // the part of the cluster that a round may take
	Ignored           *big.Rat // the part of its guarantee that a queue may use beyond it and give nothing
	Limited           bool     // limits of users or of reservations may keep a queue from its guarantee
}

// Owes reports whether rounds give queues their guarantees back within a time.
func (r *Preemption) Owes() bool { return r.On && r.Reserves && !r.Observes && r.GuaranteeMillis >= 0 }

// Keeps reports whether rounds keep for a queue what it used of its guarantee after containers ended for it.
func (r *Preemption) Keeps() bool { return r.On && r.Reserves && !r.Observes && r.KeepMillis > 0 }

// RestMillis returns how long a queue that is overdue may still wait: while a node makes room for another
// request, during its own warnings, and during the rounds over which the limit of a round spreads them.
func (r *Preemption) RestMillis() int64 {
	rounds := int64(1)
	if r.PerRound.Sign() > 0 {
		for new(big.Rat).Mul(r.PerRound, big.NewRat(rounds, 1)).Cmp(big.NewRat(1, 1)) < 0 {
			rounds++
		}
	}
	return 2*r.WaitMillis + rounds*r.IntervalMillis
}

// OverdueMillis returns how long a queue waits until it is overdue.
func (r *Preemption) OverdueMillis() int64 { return max(r.GuaranteeMillis-r.RestMillis(), 0) }

// MovesToFullNodes reports whether a reservation may move to a node without room, on which a later
// round chooses containers.
func (r *Preemption) MovesToFullNodes() bool { return r.Moves && !r.Reserves }

// Preemption returns the cluster-wide settings of preemption.
func (p Properties) Preemption() Preemption {
	r := Preemption{WaitMillis: 15_000, Reserves: true, DelayMillis: 60_000, BalanceMillis: 300_000,
		IntervalMillis: 3000, GuaranteeMillis: 120_000, KeepMillis: 600_000, PerRound: big.NewRat(1, 10), Ignored: big.NewRat(1, 10)}
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
		case monitor + "observe_only":
			r.Observes = isWord(property.Value, "true")
		case monitor + "monitoring_interval":
			r.IntervalMillis = count(property.Value)
		case prefix + "preemption.reservation-wait-ms":
			r.ReservationMillis = count(property.Value)
			r.Limited = r.Limited || r.ReservationMillis < 0
		case prefix + "reservations-continue-look-all-nodes": // else reservations count against users' limits
			r.Limited = r.Limited || isWord(property.Value, "false")
		case prefix + "preemption.guarantee-wait-ms":
			r.GuaranteeMillis = count(property.Value)
		case prefix + "preemption.keep-guarantee-ms":
			r.KeepMillis = count(property.Value)
		case monitor + "total_preemption_per_round":
			r.PerRound = part(property.Value)
		case monitor + "max_ignored_over_capacity":
			r.Ignored = part(property.Value)
		}
		r.Limited = r.Limited || limits(property.Name, property.Value)
	}
	return r
}

// part reads a part of 1; 0 if the text is none.
func part(text string) *big.Rat {
	if r, ok := new(big.Rat).SetString(strings.TrimSpace(text)); ok {
		return r
	}
	return new(big.Rat)
}

// limits reports whether a property limits a user to less than the guarantee of the queue, or the number
// of reservations.
func limits(name, value string) bool {
	if strings.HasSuffix(name, ".user-limit-factor") {
		f := part(value)
		return f.Sign() >= 0 && f.Cmp(big.NewRat(1, 1)) < 0
	}
	return strings.HasSuffix(name, ".minimum-user-limit-percent") || strings.Contains(name, ".user-settings.") ||
		strings.HasPrefix(name, prefix+"reservation.maximum-per-")
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
