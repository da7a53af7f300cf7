package twin

import (
	"fmt"
	"slices"

	"rmd/fsm/state/change"
	"rmd/scheduler/planner"
	"rmd/scheduler/preemption"
	"rmd/yarn"
)

// preemptionPrefix is the prefix of preemption properties that do not belong to a queue.
const preemptionPrefix = "yarn.resourcemanager.monitor.capacity.preemption."

// preemption sets preemption as in YARN's policy. No policy is configured, so Hadoop computes its
// choice only when a step asks for it.
func (g *generator) preemption(props map[string]string) {
	props["yarn.resourcemanager.scheduler.monitor.enable"] = "true"
	props[prefix+"preemption.selector"] = "yarn"
	props[preemptionPrefix+"total_preemption_per_round"] = "1"
	some := func(percent int, name string, values ...string) {
		if g.chance(percent) {
			props[preemptionPrefix+name] = pick(g, values)
		}
	}
	some(70, "natural_termination_factor", "1", "0.5")
	some(70, "max_ignored_over_capacity", "0", "0.25")
	some(30, "conservative-drf", "true")
	some(30, "additional_res_balance_based_on_reserved_containers", "true")
	some(30, "select_based_on_reserved_containers", "true")
	some(30, "preemption-to-balance-queue-after-satisfied.enabled", "true")
	if g.with[Inside] {
		const inside = "intra-queue-preemption."
		props[preemptionPrefix+inside+"enabled"] = "true"
		some(60, inside+"preemption-order-policy", "userlimit_first", "priority_first")
		some(80, inside+"max-allowable-limit", "1", "0.5", "0.25")
		some(40, inside+"minimum-threshold", "0", "0.25", "1")
		some(40, inside+"conservative-drf", "false")
	}
}

// prefixOfNames returns a prefix for the names of a queue's children. YARN's policy finds the queue
// of a container by its last name alone, so names must be unique: see "equal names" on the
// differences page.
func (g *generator) prefixOfNames(path string) string {
	if name := yarn.QueueName(path); g.with["preemption"] && name != "root" {
		return name
	}
	return ""
}

// preempt returns what YARN's selectors would preempt, without changing the state. It returns only
// the choice of the first selector that chooses anything, because Hadoop subtracts this choice
// wrongly for the later ones.
func (p *Planner) preempt() (Observation, error) {
	if !p.p.Config().Preemption.Enabled {
		return nil, nil
	}
	fork, err := planner.New(p.st.Fork(), planner.Options{})
	if err != nil {
		return nil, err
	}
	s := fork.Scheduler()
	s.Begin(p.now)
	preemption.NewRounds(s).Observe()
	first := ""
	var out, dropped Observation
	for _, c := range s.Changes() {
		switch c.Kind {
		case change.WarningBegun:
			name := selector(c.Warned)
			if first == "" {
				first = name
			}
			if name == first {
				out = append(out, fmt.Sprintf("preempt %s %d.%d", name, c.Ref.App, p.apps[c.Ref.App].ordinal[c.Ref]))
			}
		case change.ReservationClosed:
			size := (&observer{kinds: len(p.p.Config().Kinds)}).text(p.st.Reservations.Get(c.Reservation).Size)
			dropped = append(dropped, fmt.Sprintf("preempt reservation %d %s", c.Ref.App, size))
		}
	}
	// The events do not show which selector has cancelled a reservation. It is one of those that take
	// from queues; of two such selectors, cancelled reservations are not compared.
	if len(dropped) > 0 && first != selector(yarn.PreemptReservation) {
		if first != selector(yarn.PreemptGuarantee) {
			out = nil
		}
		if !p.p.Config().Preemption.Balance {
			out = append(out, dropped...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// selector returns the name of the selector that chooses containers for a cause. The two causes
// inside a queue have one selector.
func selector(c yarn.PreemptionCause) string {
	if c.InsideQueue() {
		return "INSIDE"
	}
	return c.String()
}
