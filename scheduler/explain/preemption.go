package explain

import (
	"cmp"
	"fmt"
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/internal/thousands"
	"rmd/scheduler"
	"rmd/scheduler/capacity"
	"rmd/scheduler/entitlement"
	"rmd/scheduler/preemption"
	"rmd/yarn"
)

// Preemption says what preemption has decided and what its next round would decide. The round runs
// on a copy of the state, even if preemption is off.
type Preemption struct {
	Mode           string `json:"mode"` // ON, OBSERVE_ONLY or OFF
	Text           string `json:"text"`
	Selector       string `json:"selector"`
	AtMillis       int64  `json:"at_ms"` // the state's clock
	IntervalMillis int64  `json:"interval_ms"`
	MaxWaitMillis  int64  `json:"max_wait_ms"` // from the warning to the kill

	Queues   []PreemptionQueue `json:"queues"`   // leaf queues, for each label
	Warnings []PreemptionSet   `json:"warnings"` // standing warnings
	Next     PreemptionRound   `json:"next"`
	Totals   PreemptionTotals  `json:"totals"`
}

// PreemptionQueue is what a leaf queue must give or may get on the nodes of a label.
type PreemptionQueue struct {
	Path       string `json:"path"`
	Label      string `json:"label,omitempty"`
	Guaranteed string `json:"guaranteed"`
	Used       string `json:"used"`     // including its reservations
	Reserved   string `json:"reserved"` // the part of used that no container uses yet
	Pending    string `json:"pending"`
	Entitled   string `json:"entitled"` // what it should have with the current demand
	Gives      string `json:"gives"`    // what the next round may take from it
	Text       string `json:"text"`     // what follows from this

	GuaranteedAmount Amount `json:"guaranteed_amount"`
	UsedAmount       Amount `json:"used_amount"`
	ReservedAmount   Amount `json:"reserved_amount"`
	PendingAmount    Amount `json:"pending_amount"`
	EntitledAmount   Amount `json:"entitled_amount"`
	GivesAmount      Amount `json:"gives_amount"`
}

// PreemptionSet is a set of containers that end together. A reservation of their node gets the
// room.
type PreemptionSet struct {
	Reservation    string                `json:"reservation,omitempty"` // empty: no reservation gets the room
	App            string                `json:"app,omitempty"`         // the application that gets the room
	Queue          string                `json:"queue"`                 // of that application
	Node           string                `json:"node"`
	Needs          string                `json:"needs,omitempty"`
	Cause          string                `json:"cause"`
	AskedMillis    int64                 `json:"asked_ms"`
	DeadlineMillis int64                 `json:"deadline_ms"`
	Sets           uint32                `json:"sets"`    // how many sets were compared
	CostMillis     int64                 `json:"cost_ms"` // lost work, in milliseconds of all nodes with the label
	Containers     []PreemptionContainer `json:"containers"`
	Text           string                `json:"text"`

	number uint64
}

// PreemptionContainer is a container that is to end.
type PreemptionContainer struct {
	ID        string `json:"id"`
	App       string `json:"app"`
	Queue     string `json:"queue"`
	Size      string `json:"size"`
	AM        bool   `json:"am,omitempty"`
	RunMillis int64  `json:"run_ms"` // how long it has run
}

// PreemptionRound is the decisions of a round.
type PreemptionRound struct {
	Warns     []PreemptionSet        `json:"warns"`
	Kills     []PreemptionContainer  `json:"kills"` // their deadline has passed
	Withdraws []PreemptionWithdrawal `json:"withdraws"`
}

// PreemptionWithdrawal is a withdrawn warning.
type PreemptionWithdrawal struct {
	PreemptionContainer
	Cause string `json:"cause"`
}

// PreemptionTotals are counts since the cluster was created. All except ResourceSeconds count
// containers, by cause.
type PreemptionTotals struct {
	Preempted map[string]uint64 `json:"preempted"`
	Withdrawn map[string]uint64 `json:"withdrawn"`
	// Unused counts containers that were preempted for a reservation that was cancelled afterwards,
	// by the cause of the cancellation.
	Unused          map[string]uint64 `json:"unused"`
	ResourceSeconds Amount            `json:"resource_seconds"` // that the preempted containers had used
}

// AppPreemption is what preemption does for an application and takes from it.
type AppPreemption struct {
	Text  string          `json:"text,omitempty"`  // why no container ends for it, though its queue is under its guarantee
	Dear  *PreemptionDear `json:"dear,omitempty"`  // the set that would end if it lost less work
	Gains []PreemptionSet `json:"gains,omitempty"` // containers that are warned to make room for it
	Loses []PreemptionSet `json:"loses,omitempty"` // sets of warned containers that include some of its own
}

// PreemptionDear is the cheapest set of containers whose end would make room, if it loses more work
// than the wait is worth. The unit of work is the time in which the waiting container does as much.
type PreemptionDear struct {
	Node         string   `json:"node"`
	Containers   []string `json:"containers"`
	LostMillis   int64    `json:"lost_ms"`
	MostMillis   int64    `json:"most_ms"`   // what a set may lose now
	WaitedMillis int64    `json:"waited_ms"` // since the application's last container
	LeftMillis   int64    `json:"left_ms"`   // until room is expected without preemption; -1: not within a week
	// EndsMillis is the time at which a set becomes cheap enough if nothing else changes; absent:
	// unknown.
	EndsMillis int64 `json:"ends_ms,omitempty"`
}

// preemptions says what preemption does and why.
type preemptions struct{ view }

// Modes of preemption.
const (
	PreemptionOn      = "ON"
	PreemptionObserve = "OBSERVE_ONLY"
	PreemptionOff     = "OFF"
)

// PreemptionNow returns what preemption has decided and would decide now. It changes the
// scheduler's state, which must be a copy.
func PreemptionNow(s *scheduler.Scheduler) *Preemption {
	v := preemptions{viewOf(s)}
	d := &Preemption{AtMillis: v.st.Meta.NowMillis, Queues: []PreemptionQueue{}, Totals: v.preemptionTotals()}
	d.Next = PreemptionRound{Warns: []PreemptionSet{}, Kills: []PreemptionContainer{}, Withdraws: []PreemptionWithdrawal{}}
	d.Warnings = v.warnedSets(func(state.ContainerSlot) bool { return true })
	if d.Mode, d.Text = v.preemptionMode(); v.cfg == nil {
		return d
	}
	set := &v.cfg.Preemption
	d.Selector, d.IntervalMillis, d.MaxWaitMillis = selectorName(set.Selector), set.IntervalMillis, set.MaxWaitMillis
	for _, label := range v.labels() {
		d.Queues = append(d.Queues, v.preemptionQueues(label)...)
	}
	v.observe(&d.Next)
	return d
}

func (v preemptions) preemptionMode() (mode, text string) {
	switch {
	case v.cfg == nil:
		return PreemptionOff, "the cluster has no queues yet"
	case !v.cfg.Preemption.Enabled:
		return PreemptionOff, "preemption is off: nothing is warned or preempted"
	case v.cfg.Preemption.ObserveOnly:
		return PreemptionObserve, "preemption only observes: nothing is warned or preempted"
	}
	return PreemptionOn, "preemption is on"
}

func selectorName(s entitlement.Selector) string {
	if s == entitlement.YARN {
		return "yarn"
	}
	return "planned"
}

// labels returns 0 and all labels.
func (v preemptions) labels() []state.LabelSlot {
	out := []state.LabelSlot{0}
	v.st.Labels.Each(func(slot state.LabelSlot, _ *state.Label) bool { out = append(out, slot); return true })
	return out
}

func (v preemptions) preemptionQueues(label state.LabelSlot) (out []PreemptionQueue) {
	p := preemption.PartitionOf(v.Views, label)
	balanced := v.balanced(p)
	for i, share := range p.Entitlements(&v.cfg.Preemption, entitlement.Mode{Reserved: true}) {
		q := &p.Queues[i]
		if !q.Leaf || label != 0 && q.Guaranteed.IsZero() && q.Used.IsZero() && q.Pending.IsZero() {
			continue
		}
		none := yarn.Resource{}
		gives, entitled := yarn.ComponentMax(share.ToTake, none), yarn.ComponentMax(share.Ideal, none)
		text := preemptionText(v.cfg, p, q, gives, entitled)
		if balanced != nil {
			text = v.balanceText(q, &balanced[i], gives, text)
			gives, entitled = yarn.ComponentMax(gives, balanced[i].ToTake), yarn.ComponentMax(balanced[i].Ideal, none)
		}
		format := v.cfg.Kinds.Format
		out = append(out, PreemptionQueue{
			Path: v.cfg.Queues[i].Path, Label: v.st.Labels.Name(label),
			Guaranteed: format(q.Guaranteed), Used: format(q.Used), Reserved: format(q.Reserved), Pending: format(q.Pending),
			Entitled: format(entitled), Gives: format(gives),
			GuaranteedAmount: v.amount(q.Guaranteed), UsedAmount: v.amount(q.Used), ReservedAmount: v.amount(q.Reserved),
			PendingAmount:  v.amount(q.Pending),
			EntitledAmount: v.amount(entitled), GivesAmount: v.amount(gives),
			Text: text,
		})
	}
	return out
}

// underGuarantee returns how much a queue is below its guarantee, not counting its reservations. It
// returns zero if the dominant share of the queue has reached the guarantee.
func underGuarantee(p *entitlement.Partition, q *entitlement.Queue) yarn.Resource {
	has := q.Used.Sub(q.Reserved)
	if p.Calculator.Compare(p.Total, has, q.Guaranteed) >= 0 {
		return yarn.Resource{}
	}
	return yarn.ComponentMax(q.Guaranteed.Sub(has), yarn.Resource{})
}

// preemptionText describes the share of a leaf.
func preemptionText(cfg *capacity.Config, p *entitlement.Partition, q *entitlement.Queue, gives,
	entitled yarn.Resource) string {
	calc, none := cfg.Calculator, yarn.Resource{}
	under := underGuarantee(p, q)
	over := yarn.ComponentMax(q.Used.Sub(q.Guaranteed), none)
	switch {
	case calc.AnyAboveZero(gives):
		return "must give " + cfg.Kinds.Format(gives)
	case calc.AnyAboveZero(q.Pending) && calc.AnyAboveZero(under):
		return "waits for its guarantee: " + cfg.Kinds.Format(yarn.ComponentMin(under, q.Pending)) + " more"
	case !calc.AnyAboveZero(over):
		return "within its guarantee"
	case q.Disabled:
		return "over its guarantee; disable_preemption protects it"
	case calc.AnyAboveZero(q.Used.Sub(entitled)):
		return "over its guarantee by less than max_ignored_over_capacity"
	}
	return "over its guarantee; nobody is owed what it borrows"
}

// observe adds the decisions that a round would make now. It applies them to the state, except for
// the kills.
func (v preemptions) observe(next *PreemptionRound) {
	known := map[state.ContainerSlot]bool{}
	v.st.Preemptions.Each(func(slot state.ContainerSlot, _ *state.Preemption) bool { known[slot] = true; return true })
	v.sched.Begin(v.st.Meta.NowMillis)
	for _, slot := range preemption.NewRounds(v.sched).Observe() {
		next.Kills = append(next.Kills, v.preemptionContainer(slot))
	}
	for _, e := range v.sched.Events() {
		if w, ok := e.(*event.PreemptionWithdrawn); ok {
			next.Withdraws = append(next.Withdraws, PreemptionWithdrawal{v.preemptionContainer(v.st.Container(w.Container)),
				w.Cause.String()})
		}
	}
	next.Warns = v.warnedSets(func(slot state.ContainerSlot) bool { return !known[slot] })
}

// warnedSets returns the warned containers for which pass returns true, grouped by reservation, the
// oldest warnings first.
func (v preemptions) warnedSets(pass func(container state.ContainerSlot) bool) []PreemptionSet {
	sets := []PreemptionSet{}
	at := map[uint64]int{} // by reservation
	v.st.Preemptions.Each(func(slot state.ContainerSlot, p *state.Preemption) bool {
		if !pass(slot) {
			return true
		}
		i, ok := at[p.Reservation]
		if !ok || p.Reservation == 0 {
			i = len(sets)
			at[p.Reservation] = i
			sets = append(sets, v.warnedSet(slot, p))
		}
		sets[i].Containers = append(sets[i].Containers, v.preemptionContainer(slot))
		return true
	})
	slices.SortStableFunc(sets, func(a, b PreemptionSet) int {
		return cmp.Or(cmp.Compare(a.AskedMillis, b.AskedMillis), cmp.Compare(a.number, b.number))
	})
	return sets
}

// warnedSet returns the set of a warning, without its containers.
func (v preemptions) warnedSet(slot state.ContainerSlot, p *state.Preemption) PreemptionSet {
	s := PreemptionSet{Queue: p.Queue, Cause: p.Cause.String(), AskedMillis: p.AskedMillis,
		DeadlineMillis: p.DeadlineMillis, Sets: p.Sets,
		CostMillis: int64(p.Cost >> 32), Text: v.preemptionWhy(slot, p), number: p.Reservation,
		Node: v.st.Nodes.Get(v.st.Containers.Get(slot).Node).ID.String()}
	if r := v.st.Reservations.Find(p.Reservation); r != 0 {
		res := v.st.Reservations.Get(r)
		s.Reservation, s.Needs = fmt.Sprintf("r%d", res.Number), v.cfg.Kinds.Format(res.Size)
		s.App = v.st.Apps.Get(res.App).ID.String()
	}
	return s
}

func (v preemptions) preemptionContainer(slot state.ContainerSlot) PreemptionContainer {
	c := v.st.Containers.Get(slot)
	a := v.st.Apps.Get(c.App)
	return PreemptionContainer{ID: v.st.Apps.ContainerID(c).String(), App: a.ID.String(),
		Queue: v.st.Queues.Get(a.Queue).Path,
		Size:  v.cfg.Kinds.Format(c.Size), AM: c.AM, RunMillis: max(v.st.Meta.NowMillis-c.AllocatedMillis, 0)}
}

// preemptionWhy says why a container was warned.
func (v preemptions) preemptionWhy(slot state.ContainerSlot, p *state.Preemption) string {
	text := p.Queue
	switch {
	case p.Cause == yarn.PreemptUserLimit:
		text = "another user of " + text + " has less than its part"
	case p.Cause == yarn.PreemptPriority:
		text = "an application of " + text + " has a higher priority"
	case p.Cause == yarn.PreemptQueuePriority:
		text = v.rankedText(slot, p)
	case p.Cause == yarn.PreemptBalance:
		text += " has less of what is left than its part"
	case p.Under.IsZero():
		text += " is owed more"
	default:
		text += " was " + v.cfg.Kinds.Format(p.Under) + " under its guarantee"
	}
	if !p.Over.IsZero() {
		text += ", " + v.preemptionContainer(slot).Queue + " was " + v.cfg.Kinds.Format(p.Over) + " over its own"
	}
	if p.Sets > 0 {
		text += "; cheapest of " + thousands.Count(p.Sets, "set")
	}
	return text
}

// becausePreempted says for whom a container was preempted.
func (v decisions) becausePreempted(ref event.ContainerRef, exit int32) Decision {
	slot := v.st.Container(ref)
	if slot == 0 || exit != yarn.ExitPreempted || !v.st.Preemptions.Has(slot) {
		return Decision{}
	}
	p := v.st.Preemptions.Get(slot)
	c := v.preemptionContainer(slot)
	if p.Cause == yarn.PreemptLease {
		return Decision{p.Cause.String(), fmt.Sprintf("ended %s, which had lent it the room; it had run for %d s",
			v.preemptionFor(p.Reservation), c.RunMillis/1000)}
	}
	return Decision{p.Cause.String(), fmt.Sprintf("preempted %s; %s; it had run for %d s", v.preemptionFor(p.Reservation),
		v.preemptionWhy(slot, p), c.RunMillis/1000)}
}

// preemptionFor names the application or queue that gets the room.
func (v decisions) preemptionFor(number uint64) string {
	slot := v.st.Reservations.Find(number)
	if slot == 0 {
		return "for another queue"
	}
	return fmt.Sprintf("for %s (reservation r%d)", v.st.Apps.Get(v.st.Reservations.Get(slot).App).ID, number)
}

func (v decisions) becauseAsked(e *event.PreemptionAsked) Decision {
	slot := v.st.Container(e.Container)
	if slot == 0 {
		return Decision{}
	}
	if e.Cause == yarn.PreemptLease {
		return Decision{e.Cause.String(), fmt.Sprintf("%s, which has lent it the room and needs it now; it has run for %d s",
			v.preemptionFor(e.Reservation), v.preemptionContainer(slot).RunMillis/1000)}
	}
	p := &state.Preemption{Queue: e.Queue, Cause: e.Cause, Under: e.Under, Over: e.Over, Sets: e.Sets}
	return Decision{e.Cause.String(), fmt.Sprintf("%s: %s; it has run for %d s", v.preemptionFor(e.Reservation),
		v.preemptionWhy(slot, p), v.preemptionContainer(slot).RunMillis/1000)}
}

func becauseWithdrawn(e *event.PreemptionWithdrawn) Decision {
	return Decision{e.Cause.String(), e.Cause.Text()}
}

func (v preemptions) preemptionTotals() PreemptionTotals {
	t := &v.st.PreemptionTotals
	out := PreemptionTotals{Preempted: t.Preempted.Named(), Withdrawn: t.Withdrawn.Named(), Unused: t.Unused.Named(),
		ResourceSeconds: Amount{}}
	if v.cfg != nil {
		out.ResourceSeconds = v.amount(t.ResourceSeconds)
	}
	return out
}

// explainPreemption adds what preemption does for an application and takes from it.
func (v preemptions) explainPreemption(x *Explanation, a *state.App) {
	if a.State.Ended() {
		return
	}
	p := &AppPreemption{}
	if v.st.Preemptions.Len() > 0 {
		for _, set := range v.warnedSets(func(state.ContainerSlot) bool { return true }) {
			if set.App == x.ID {
				p.Gains = append(p.Gains, set)
			}
			if slices.ContainsFunc(set.Containers, func(c PreemptionContainer) bool { return c.App == x.ID }) {
				p.Loses = append(p.Loses, set)
			}
		}
	}
	// Preemption obeys the limits on reservations, so it cannot help against a reason of theirs.
	if (x.reason == scheduler.NodeTooSmallFree || x.reason == scheduler.NodeReservedByOther) && len(p.Gains) == 0 {
		p.Text, p.Dear = v.whyNoPreemption(x.Queue, a)
	}
	if p.Text != "" || len(p.Gains)+len(p.Loses) > 0 {
		x.Preemption = p
	}
}

// span formats a time with at most two units: 12s, 4m02s, 3h12m, 3d04h.
func span(millis int64) string {
	switch s := millis / 1000; {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	case s < 48*3600:
		return fmt.Sprintf("%dh%02dm", s/3600, s%3600/60)
	default:
		return fmt.Sprintf("%dd%02dh", s/86400, s%86400/3600)
	}
}
