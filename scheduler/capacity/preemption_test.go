package capacity

import (
	"strings"
	"testing"

	"rmd/scheduler/entitlement"
	"rmd/yarn"
)

// TestPreemptionDefaults checks that the defaults are Hadoop's: preemption is off.
func TestPreemptionDefaults(t *testing.T) {
	c := parse(t, twoQueues)
	want := entitlement.Settings{
		IntervalMillis: 3000, MaxWaitMillis: 15_000, TotalPerRound: yarn.NewFraction(1, 10),
		MaxIgnoredOverCapacity: yarn.NewFraction(1, 10),
		NaturalTermination:     yarn.NewFraction(1, 5), BalanceMaxWaitMillis: 300_000,
		QueuePriority: entitlement.QueuePriority{ReservedDelayMillis: 60_000},
		Intra: entitlement.Intra{MinThreshold: yarn.NewFraction(1, 2), MaxAllowable: yarn.NewFraction(1, 5),
			ConservativeDRF: true, Order: entitlement.UserLimitFirst},
		Selector: entitlement.Planned, MaxLostMillis: 60_000, GuaranteeWaitMillis: 120_000,
		KeepMillis: 600_000,
	}
	if c.Preemption != want {
		t.Errorf("preemption settings %+v\nwant %+v", c.Preemption, want)
	}
	if len(c.Warnings)+len(c.Ignored) != 0 {
		t.Errorf("warnings %v, ignored keys %v, want none", c.Warnings, c.Ignored)
	}
}

func TestPreemptionKeys(t *testing.T) {
	c := parse(t, strings.ReplaceAll(twoQueues+`
yarn.resourcemanager.scheduler.monitor.enable = true
yarn.resourcemanager.scheduler.monitor.policies = org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity.ProportionalCapacityPreemptionPolicy
M.observe_only = true
M.monitoring_interval = 1000
M.max_wait_before_kill = 0
M.total_preemption_per_round = 0.3
M.max_ignored_over_capacity = 1.5
M.natural_termination_factor = 1
M.conservative-drf = true
M.select_based_on_reserved_containers = true
M.additional_res_balance_based_on_reserved_containers = true
M.preemption-to-balance-queue-after-satisfied.enabled = true
M.preemption-to-balance-queue-after-satisfied.max-wait-before-kill = 7
M.intra-queue-preemption.enabled = true
M.intra-queue-preemption.minimum-threshold = 0.6
M.intra-queue-preemption.max-allowable-limit = 0.7
M.intra-queue-preemption.conservative-drf = false
M.intra-queue-preemption.preemption-order-policy = PRIORITY_FIRST
ordering-policy.priority-utilization.underutilized-preemption.enabled = true
ordering-policy.priority-utilization.underutilized-preemption.reserved-container-delay-ms = 9
ordering-policy.priority-utilization.underutilized-preemption.allow-move-reservation = true
preemption.selector = yarn
preemption.reservation-wait-ms = 60000
preemption.max-lost-work-ms = 600000
preemption.guarantee-wait-ms = -1
preemption.keep-guarantee-ms = 8`, "M.", preemptionPrefix))
	want := entitlement.Settings{
		Enabled: true, ObserveOnly: true, IntervalMillis: 1000, TotalPerRound: yarn.NewFraction(3, 10),
		MaxIgnoredOverCapacity: yarn.NewFraction(3, 2),
		NaturalTermination:     yarn.One, ConservativeDRF: true, SelectReserved: true, CountReserved: true, Balance: true,
		BalanceMaxWaitMillis: 7,
		QueuePriority:        entitlement.QueuePriority{Enabled: true, ReservedDelayMillis: 9, MoveReservation: true},
		Intra: entitlement.Intra{Enabled: true, MinThreshold: yarn.NewFraction(3, 5),
			MaxAllowable: yarn.NewFraction(7, 10), Order: entitlement.PriorityFirst},
		Selector: entitlement.YARN, ReservationWaitMillis: 60_000, MaxLostMillis: 600_000, GuaranteeWaitMillis: -1, KeepMillis: 8,
	}
	if c.Preemption != want {
		t.Errorf("preemption settings %+v\nwant %+v", c.Preemption, want)
	}
	if len(c.Warnings)+len(c.Ignored) != 0 {
		t.Errorf("warnings %v, ignored keys %v, want none", c.Warnings, c.Ignored)
	}
	if len(c.Properties()) < 23 {
		t.Errorf("%d properties: some are not part of the configuration", len(c.Properties()))
	}
}

func TestPreemptionFaults(t *testing.T) {
	for key, what := range map[string]string{
		preemptionPrefix + "total_preemption_per_round = 1.1": "is out of bounds",
		"preemption.keep-guarantee-ms = -1":                   "a number from 0 to",
		"preemption.guarantee-wait-ms = 2m":                   "is not a whole number",
		preemptionPrefix + "natural_termination_factor = x":   "is not a decimal number",
		preemptionPrefix + "monitoring_interval = 0":          "is out of bounds",
		preemptionPrefix +
			"intra-queue-preemption.preemption-order-policy = x": "write userlimit_first or priority_first",
		"preemption.selector = fifo":          "write planned or yarn",
		"preemption.max-lost-work-ms = -2":    "is out of bounds",
		"preemption.reservation-wait-ms = -2": "is out of bounds",
		"root.a.disable_preemption = maybe":   "write true or false",
		"ordering-policy.priority-utilization.underutilized-preemption.allow-move-reservation = 1": "write true or false",
	} {
		_, err := Parse(props(twoQueues + key))
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v, want %q", key, err, what)
		}
	}
	for key, what := range map[string]string{
		preemptionPrefix + "max_wait_before_kil = 5":  "did you mean \"" + preemptionPrefix + "max_wait_before_kill\"?",
		monitorPolicies + " = a.b.OtherDynamicPolicy": "names a.b.OtherDynamicPolicy, which rmd does not have",
	} {
		c := parse(t, twoQueues+monitorEnable+" = true\n"+key)
		if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0].What+"; "+c.Warnings[0].Do, what) {
			t.Errorf("%s: %v, want %q", key, c.Warnings, what)
		}
		if c.Preemption.Enabled == strings.Contains(key, "Dynamic") {
			t.Errorf("%s: enabled is %v", key, c.Preemption.Enabled)
		}
	}
}

// TestPreemptionShown checks what is reported about a queue. As in YARN, the keys of a queue count
// as soon as monitors are enabled, even if none of them preempts. A queue with disable_preemption
// also has preemption inside it disabled.
func TestPreemptionShown(t *testing.T) {
	const on, inside = monitorEnable + " = true\n", preemptionPrefix + "intra-queue-preemption.enabled = true\n"
	for conf, want := range map[string][2]bool{
		"": {true, true}, inside: {true, true}, on: {false, true}, on + inside: {false, false},
		on + inside + monitorPolicies + " = a.b.QueueManagementDynamicEditPolicy": {false, false},
		on + inside + "root.a.disable_preemption = true":                          {true, true},
		on + inside + "root.a.intra-queue-preemption.disable_preemption = true":   {false, true},
	} {
		c := parse(t, twoQueues+conf)
		i, err := c.Lookup("root.a")
		if err != nil {
			t.Fatal(err)
		}
		if queue, intra := c.PreemptionDisabled(i); queue != want[0] || intra != want[1] {
			t.Errorf("%q: disabled %v, inside %v; want %v", conf, queue, intra, want)
		}
	}
}

// TestPreemptionIsInherited checks that a queue inherits the preemption keys of its parent unless
// it sets them.
func TestPreemptionIsInherited(t *testing.T) {
	c := parse(t, `
root.queues = a,b
root.a.capacity = 50
root.b.capacity = 50
root.a.queues = x,y
root.a.x.capacity = 50
root.a.y.capacity = 50
root.a.disable_preemption = true
root.a.y.disable_preemption = false
root.intra-queue-preemption.disable_preemption = true
root.b.intra-queue-preemption.disable_preemption = false`)
	want := map[string][2]bool{"root": {false, true}, "root.a": {true, true}, "root.a.x": {true, true},
		"root.a.y": {false, true}, "root.b": {false, false}}
	for i := range c.Queues {
		q := &c.Queues[i]
		if got := [2]bool{q.DisablePreemption, q.DisableIntraPreemption}; got != want[q.Path] {
			t.Errorf("%s: %v, want %v", q.Path, got, want[q.Path])
		}
	}
}
