package capacity

import (
	"strings"

	"rmd/internal/clip"
	"rmd/scheduler/entitlement"
	"rmd/yarn"
)

const (
	monitorEnable   = "yarn.resourcemanager.scheduler.monitor.enable"
	monitorPolicies = "yarn.resourcemanager.scheduler.monitor.policies"

	// preemptionPrefix is the prefix of Hadoop's preemption keys that do not belong to a queue.
	preemptionPrefix = "yarn.resourcemanager.monitor.capacity.preemption."
)

// readPreemption reads the settings of preemption. As in Hadoop, preemption is on if the monitors
// are enabled and include it.
func (r *reader) readPreemption(c *Config) {
	const (
		p    = preemptionPrefix
		year = 365 * 86_400_000
	)
	millis := func(name string, def, least int64) int64 { return r.int(name, def, least, year) }
	share := func(name string, percent int64) yarn.Fraction {
		return r.fraction(name, yarn.NewFraction(percent, 100), 1)
	}
	c.Monitors = r.bool(monitorEnable, false)
	c.Preemption = entitlement.Settings{
		Enabled:                c.Monitors && r.monitorsPreemption(),
		ObserveOnly:            r.bool(p+"observe_only", false),
		IntervalMillis:         millis(p+"monitoring_interval", 3000, 1),
		MaxWaitMillis:          millis(p+"max_wait_before_kill", 15_000, 0),
		TotalPerRound:          share(p+"total_preemption_per_round", 10),
		MaxIgnoredOverCapacity: r.fraction(p+"max_ignored_over_capacity", yarn.NewFraction(1, 10), 1000),
		NaturalTermination:     share(p+"natural_termination_factor", 20),
		ConservativeDRF:        r.bool(p+"conservative-drf", false),
		SelectReserved:         r.bool(p+"select_based_on_reserved_containers", false),
		CountReserved:          r.bool(p+"additional_res_balance_based_on_reserved_containers", false),
		Balance:                r.bool(p+"preemption-to-balance-queue-after-satisfied.enabled", false),
		BalanceMaxWaitMillis:   millis(p+"preemption-to-balance-queue-after-satisfied.max-wait-before-kill", 300_000, 0),
		Intra: entitlement.Intra{
			Enabled:         r.bool(p+"intra-queue-preemption.enabled", false),
			MinThreshold:    share(p+"intra-queue-preemption.minimum-threshold", 50),
			MaxAllowable:    share(p+"intra-queue-preemption.max-allowable-limit", 20),
			ConservativeDRF: r.bool(p+"intra-queue-preemption.conservative-drf", true),
			Order:           r.intraOrder(p + "intra-queue-preemption.preemption-order-policy"),
		},
		Selector: r.selector(Prefix + "preemption.selector"),
	}
	const underutilized = Prefix + "ordering-policy.priority-utilization.underutilized-preemption."
	c.Preemption.QueuePriority = entitlement.QueuePriority{
		Enabled:             r.bool(underutilized+"enabled", false),
		ReservedDelayMillis: millis(underutilized+"reserved-container-delay-ms", 60_000, 0),
		MoveReservation:     r.bool(underutilized+"allow-move-reservation", false),
	}
	c.Preemption.ReservationWaitMillis = millis(Prefix+"preemption.reservation-wait-ms", 0, Unlimited)
	c.Preemption.GuaranteeWaitMillis = millis(Prefix+"preemption.guarantee-wait-ms", 120_000, Unlimited)
	c.Preemption.KeepMillis = millis(Prefix+"preemption.keep-guarantee-ms", 600_000, 0)
	c.Preemption.MaxLostMillis = millis(Prefix+"preemption.max-lost-work-ms", 60_000, Unlimited)
}

// monitorsPreemption reports whether the monitors include the one for preemption.
func (r *reader) monitorsPreemption() bool {
	const preempts = "ProportionalCapacityPreemptionPolicy"
	if !r.set(monitorPolicies) {
		return true
	}
	found := false
	for _, class := range r.names(monitorPolicies) {
		if class[strings.LastIndexByte(class, '.')+1:] == preempts {
			found = true
			continue
		}
		if strings.HasSuffix(class, ".QueueManagementDynamicEditPolicy") ||
			strings.HasSuffix(class, ".AutoCreatedQueueDeletionPolicy") {
			continue // rmd always does what these monitors do
		}
		r.warn(monitorPolicies, "names "+clip.Text(class)+", which rmd does not have",
			"name "+preempts+" alone, which preempts")
	}
	return found
}

func (r *reader) intraOrder(name string) entitlement.IntraOrder {
	switch v, ok := r.get(name); {
	case !ok || strings.EqualFold(v, "userlimit_first"):
	case strings.EqualFold(v, "priority_first"):
		return entitlement.PriorityFirst
	default:
		r.fault(name, "is not an order of preemption inside a queue", "write userlimit_first or priority_first")
	}
	return entitlement.UserLimitFirst
}

func (r *reader) selector(name string) entitlement.Selector {
	switch v, ok := r.get(name); {
	case !ok || v == "planned":
	case v == "yarn":
		return entitlement.YARN
	default:
		r.fault(name, "is not a way to choose containers", "write planned or yarn")
	}
	return entitlement.Planned
}

// PreemptionDisabled reports whether preemption takes nothing from queue i for other queues, and
// whether it takes nothing from its applications for each other. As in YARN, this depends on the
// keys and on whether monitors are enabled, but not on which monitors there are.
//
// Source: Hadoop 3.4.2, CSQueuePreemptionSettings.
func (c *Config) PreemptionDisabled(i int) (queue, intra bool) {
	q := &c.Queues[i]
	queue = !c.Monitors || q.DisablePreemption
	return queue, queue || !c.Preemption.Intra.Enabled || q.DisableIntraPreemption
}

// readQueuePreemption reads the preemption keys of a queue. Without a key the parent's value
// counts.
func (r *reader) readQueuePreemption(c *Config, q *Queue, key func(string) string) {
	if p := c.parentOf(q); p != nil {
		q.DisablePreemption, q.DisableIntraPreemption = p.DisablePreemption, p.DisableIntraPreemption
	}
	q.DisablePreemption = r.bool(key("disable_preemption"), q.DisablePreemption)
	q.DisableIntraPreemption = r.bool(key("intra-queue-preemption.disable_preemption"), q.DisableIntraPreemption)
}
