package planner

import (
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"rmd/scheduler/input"
)

// TestRandomMixture combines all features: both preemption selectors, preemption inside queues,
// backfill, gangs, labels, dynamic queues, and configurations that switch them on and off. Other
// tests check which containers preemption may take.
func TestRandomMixture(t *testing.T) {
	t.Parallel()
	randomStories(t, true, (*machine).mixedActions)
}

func (m *machine) mixedActions() map[string]func(*rapid.T) {
	m.variant, m.mixed = 3, true
	m.mix(m.t)
	for range 3 {
		m.submit(m.t)
	}
	a := m.actions()
	maps.Copy(a, map[string]func(*rapid.T){"mix": m.mix, "round": m.preemptionRound, "round2": m.preemptionRound,
		"round3": m.preemptionRound, "round4": m.preemptionRound,
		"gang2": m.declareGang, "submit4": m.submit, "submit5": m.submit})
	return a
}

// mix draws a configuration of features that other tests check separately.
func (m *machine) mix(t *rapid.T) {
	const monitor = "yarn.resourcemanager.monitor.capacity.preemption."
	yes := func(name string) string { return fmt.Sprint(rapid.Bool().Draw(t, name)) }
	of := func(name string, values ...string) string { return rapid.SampledFrom(values).Draw(t, name) }
	m.extra = map[string]string{
		"yarn.resourcemanager.scheduler.monitor.enable": of("preempts", "true", "true",
			"true", "false"),
		confPrefix + "preemption.selector": of("selector",
			"planned", "yarn"),
		confPrefix + "preemption.reservation-wait-ms":          "0",
		confPrefix + "preemption.max-lost-work-ms":             of("most", "-1", "10000"),
		confPrefix + "preemption.keep-guarantee-ms":            of("keep", "0", "60000"),
		monitor + "total_preemption_per_round":                 "1",
		monitor + "natural_termination_factor":                 "1",
		monitor + "max_wait_before_kill":                       "3000",
		monitor + "select_based_on_reserved_containers":        yes("for reservations"),
		monitor + "intra-queue-preemption.enabled":             yes("inside"),
		monitor + "intra-queue-preemption.max-allowable-limit": "1",
		confPrefix + "root.backfill": of("backfill", "preemptable",
			"declared", "off"),
		confPrefix + "root.users.backfill": of("backfill of users",
			"preemptable", "declared", "off"),
		confPrefix + "root.b.disable_preemption": yes("disabled"),
		confPrefix + "reservation.node": of("node", "first",
			"earliest", ""),
		confPrefix + "root.ordering-policy": of("order", "utilization", "priority-utilization"),
		confPrefix + "root.b.priority":      "1",
		confPrefix + "ordering-policy.priority-utilization.underutilized-preemption.enabled": yes(
			"ranked"),
		confPrefix + "ordering-policy.priority-utilization.underutilized-preemption.reserved-container-delay-ms": "1000",
		confPrefix + "ordering-policy.priority-utilization.underutilized-preemption.allow-move-reservation": yes(
			"moves"),
		monitor + "preemption-to-balance-queue-after-satisfied.enabled": yes("balance"),
	}
	for _, u := range []string{"u0", "u1", "u2"} {
		m.extra[confPrefix+"root.b.user-settings."+u+".weight"] = of("weight", "1", "2", "1.333333333", "0.666666666")
	}
	m.drawOrders(t)
	m.plan(&input.SetQueues{Properties: m.properties()})
}
