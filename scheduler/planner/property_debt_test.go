package planner

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/scheduler/preemption"
	"rmd/yarn"
)

// TestGuaranteesInTime checks that nobody who is overdue waits for more rounds than the limit of a
// round requires while enough may end: a round without a limit finds nothing more to take then.
func TestGuaranteesInTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t, false)
		m.quick = true
		limit := rapid.SampledFrom([]int{10, 5, 1}).Draw(t, "rounds for the whole cluster")
		m.oweSoon(t, limit)
		for range 8 {
			m.submit(t)
			m.ask(t)
			m.beat(nil)
		}
		m.now += 3_600_000
		for range 4 {
			m.submit(t)
			m.ask(t)
		}
		waits := 0 // rounds in turn
		for range 30 {
			m.now += 3000
			m.plan(&input.PreemptionRound{})
			if late := m.takesMore(); late == "" {
				waits = 0
			} else if waits++; waits > limit {
				m.fail("%s is overdue, and %d rounds in turn left containers that must end for it", late, waits)
			}
			m.beat(func(k *state.Container) bool { return k.State == yarn.ContainerReleasing })
		}
	})
}

// oweSoon switches preemption on. A round may take one of so many parts of the cluster.
func (m *machine) oweSoon(t *rapid.T, parts int) {
	const monitor = "yarn.resourcemanager.monitor.capacity.preemption."
	m.variant, m.extra = 3, map[string]string{
		"yarn.resourcemanager.scheduler.monitor.enable": "true",
		confPrefix + "preemption.max-lost-work-ms":      rapid.SampledFrom([]string{"0", "60000"}).Draw(t, "most"),
		confPrefix + "preemption.guarantee-wait-ms":     rapid.SampledFrom([]string{"0", "60000"}).Draw(t, "time"),
		confPrefix + "preemption.keep-guarantee-ms":     rapid.SampledFrom([]string{"0", "60000"}).Draw(t, "keep"),
		monitor + "total_preemption_per_round":          fmt.Sprint(1 / float64(parts)),
		monitor + "max_ignored_over_capacity":           rapid.SampledFrom([]string{"0", "0.1"}).Draw(t, "ignored"),
		monitor + "natural_termination_factor":          rapid.SampledFrom([]string{"0.2", "1"}).Draw(t, "natural"),
	}
	if f := m.plan(&input.SetQueues{Properties: m.properties()}).Refused(); f != nil {
		m.fail("configuration: %v", f)
	}
}

// takesMore returns an overdue leaf for which a further round would end containers if there were no
// limit of a round, or "".
func (m *machine) takesMore() (path string) {
	st, set := m.p.State(), &m.p.Config().Preemption
	late := map[string]bool{}
	st.Debts.Each(func(queue state.QueueSlot, debts *state.Debts) bool {
		for _, d := range *debts {
			if set.OverdueAt(d.SinceMillis) <= m.now {
				late[st.Queues.Get(queue).Path] = true
			}
		}
		return true
	})
	if len(late) == 0 {
		return ""
	}
	p := must(New(st.Fork(), m.opt))
	p.Config().Preemption.TotalPerRound = yarn.One
	p.sched.Begin(m.now)
	preemption.NewRounds(p.sched).Observe()
	for _, e := range p.sched.Events() {
		if w, ok := e.(*event.PreemptionAsked); ok && late[w.Queue] {
			return w.Queue
		}
	}
	return ""
}
