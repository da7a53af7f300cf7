package settings

import "strconv"

// preemptionOf sets the properties of preemption. The waits are short, because a run takes minutes.
func (o Cluster) preemptionOf(queues []Queue, set func(k, v string)) {
	const monitor = "yarn.resourcemanager.monitor.capacity.preemption."
	set("yarn.resourcemanager.scheduler.monitor.enable", "true")
	set(monitor+"monitoring_interval", "1000")
	set(monitor+"max_wait_before_kill", "2000")
	set(monitor+"max_ignored_over_capacity", "0")
	set(monitor+"total_preemption_per_round", "1")
	set(monitor+"natural_termination_factor", "1")
	if o.GuaranteeWait != "" {
		set(prefix+"preemption.guarantee-wait-ms", o.GuaranteeWait)
		set(prefix+"preemption.keep-guarantee-ms", "10000")
		set(prefix+"preemption.max-lost-work-ms", "2000") // so that only the time of the guarantee ends old containers
	}
	if o.Selector != "" {
		set(prefix+"preemption.selector", o.Selector)
		set(monitor+"intra-queue-preemption.enabled", "true")
		set(monitor+"intra-queue-preemption.max-allowable-limit", "1")
	}
	if !o.Ranked {
		return
	}
	const underutilized = prefix + "ordering-policy.priority-utilization.underutilized-preemption."
	set(prefix+"root.ordering-policy", "priority-utilization")
	for i, q := range queues {
		set(prefix+"root."+q.Name+".priority", strconv.Itoa(i))
	}
	set(underutilized+"enabled", "true")
	set(underutilized+"reserved-container-delay-ms", "1000")
	set(underutilized+"allow-move-reservation", "true")
	const balance = monitor + "preemption-to-balance-queue-after-satisfied."
	set(balance+"enabled", "true")
	set(balance+"max-wait-before-kill", "3000")
}
