package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rmd/jepsen-lite/check"
	"rmd/jepsen-lite/history"
	"rmd/jepsen-lite/model"
)

// timeline is the data of the page's script. Times are milliseconds since the start.
type timeline struct {
	Data  data
	from  int64
	lanes map[string]int // never iterated
	focus int64          // time of the first violation; 0 if there is none
	shown string
}

// data is the script's input. The names are short, because there are many values.
type data struct {
	End   float64  `json:"end"`
	Focus float64  `json:"focus"`
	Lanes []lane   `json:"lanes"`
	Bars  []bar    `json:"bars"`
	Ticks []tick   `json:"ticks"`
	Marks []moment `json:"marks"`
	Chain []moment `json:"chain"`
}

type lane struct {
	Name string `json:"n"`
	Kind string `json:"k"` // faults, replica, agent, client
}

type bar struct {
	Lane int     `json:"l"`
	From float64 `json:"f"`
	To   float64 `json:"t"`
	Kind string  `json:"k"` // fault, lead, deposed, down
	Text string  `json:"x"`
}

type tick struct {
	Lane int     `json:"l"`
	At   float64 `json:"t"`
	Kind string  `json:"k"` // ok, fail, info, order, vote, event
	Text string  `json:"x"`
}

type moment struct {
	Lane int     `json:"l"`
	At   float64 `json:"t"`
	Text string  `json:"x"`
}

func (t *timeline) ms(ns int64) float64 {
	if ns == history.Endless {
		return t.Data.End
	}
	return float64(ns-t.from) / 1e6
}

func newTimeline(p Page, from int64, failed []check.Finding) *timeline {
	t := &timeline{from: from, lanes: map[string]int{}}
	// so that empty lists are [] and not null
	t.Data = data{Bars: []bar{}, Ticks: []tick{}, Marks: []moment{}, Chain: []moment{}}
	t.Data.End = max(t.ms(p.History.End()), 1)
	if len(failed) > 0 && failed[0].NS != 0 {
		t.focus = failed[0].NS
		t.Data.Focus = t.ms(t.focus)
	}
	t.addLanes(p, failed)
	t.faults(p.History)
	t.replicas(p.History)
	for _, o := range p.History.Orders {
		text := strings.TrimSpace(strings.Join([]string{string(o.Kind), o.Container, o.App}, " "))
		t.tick(o.Node, "agents", o.NS, "order", text)
	}
	t.operations(p.History)
	for _, m := range p.History.Marks {
		t.Data.Marks = append(t.Data.Marks, moment{-1, t.ms(m.NS), m.Name})
	}
	if len(failed) > 0 {
		for _, l := range failed[0].Chain {
			if l.NS != 0 {
				t.Data.Chain = append(t.Data.Chain, moment{t.lane(l.Lane, ""), t.ms(l.NS), l.Text})
			}
		}
	}
	t.cut(p.Ticks)
	return t
}

// addLanes creates lanes for faults and replicas, and for the most important nodes and clients:
// first those of the chain, then those with unknown outcomes, then the others.
func (t *timeline) addLanes(p Page, failed []check.Finding) {
	t.lanes["faults"] = 0
	t.Data.Lanes = append(t.Data.Lanes, lane{"faults", "faults"})
	weight := map[string]int{}
	for _, f := range failed {
		for _, l := range f.Chain {
			weight[l.Lane] += 1 << 20
		}
	}
	var replicas, agents, clients []string
	seen := map[string]bool{}
	note := func(list *[]string, name string) {
		if name != "" && !seen[name] {
			seen[name] = true
			*list = append(*list, name)
		}
	}
	for _, e := range p.History.Replicas {
		note(&replicas, e.ID)
	}
	for _, o := range p.History.Orders {
		note(&agents, o.Node)
	}
	for _, o := range p.History.Ops {
		note(&clients, clientOf(o))
		if o.Type == history.Info {
			weight[clientOf(o)] += 1 << 10
		}
		weight[clientOf(o)]++
	}
	slices.Sort(replicas)
	t.addTopLanes("replica", replicas, len(replicas), weight)
	t.addTopLanes("agent", agents, p.Lanes, weight)
	t.addTopLanes("client", clients, p.Lanes, weight)
}

func clientOf(o *history.Op) string {
	if o.Client == "" {
		return fmt.Sprintf("p%d", o.Process)
	}
	return o.Client
}

// addTopLanes creates lanes for the most important names of a kind, in the order of names, and one
// for the others.
func (t *timeline) addTopLanes(kind string, names []string, most int, weight map[string]int) {
	if len(names) > most {
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(weight[b], weight[a]) })
		names = names[:most]
		defer func() {
			t.lanes[kind+"s"] = len(t.Data.Lanes)
			t.Data.Lanes = append(t.Data.Lanes, lane{"other " + kind + "s", kind})
		}()
	}
	slices.Sort(names)
	for _, n := range names {
		t.lanes[n] = len(t.Data.Lanes)
		t.Data.Lanes = append(t.Data.Lanes, lane{n, kind})
	}
}

// lane returns the index of a lane, or of the lane others; -1 if neither exists.
func (t *timeline) lane(name, others string) int {
	if i, ok := t.lanes[name]; ok {
		return i
	}
	if i, ok := t.lanes[others]; ok {
		return i
	}
	return -1
}

func (t *timeline) tick(name, others string, ns int64, kind, text string) {
	if i := t.lane(name, others); i >= 0 {
		t.Data.Ticks = append(t.Data.Ticks, tick{i, t.ms(ns), kind, clip(text)})
	}
}

func clip(text string) string {
	const most = 160
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// faults draws each fault from begin to end, in the lane of faults and in those of its replicas.
func (t *timeline) faults(h *history.History) {
	for i, f := range h.Faults {
		if f.When == history.End {
			continue
		}
		to := f.NS
		if f.When == history.Begin {
			to = h.End()
			for _, e := range h.Faults[i+1:] {
				if e.When == history.End && e.ID == f.ID && e.Kind == f.Kind {
					to = e.NS
					break
				}
			}
		}
		text := strings.TrimSpace(f.Kind + " " + strings.Join(f.On, " ") + " " + f.Text)
		for _, lane := range append([]string{"faults"}, f.On...) {
			if k := t.lane(lane, ""); k >= 0 {
				t.Data.Bars = append(t.Data.Bars, bar{k, t.ms(f.NS), t.ms(to), "fault", clip(text)})
			}
		}
	}
}

// replicas draws leaderships, times without a process, and rare events: votes, snapshots,
// memberships.
func (t *timeline) replicas(h *history.History) {
	open := map[string]*bar{} // current leadership or down time; never iterated
	shut := func(id string, ns int64) {
		if b := open[id]; b != nil {
			b.To = t.ms(ns)
			t.Data.Bars = append(t.Data.Bars, *b)
			delete(open, id)
		}
	}
	var ids []string
	for _, e := range h.Replicas {
		i := t.lane(e.ID, "")
		if !slices.Contains(ids, e.ID) {
			ids = append(ids, e.ID)
		}
		switch e.Kind {
		case history.Apply, history.Propose:
			continue
		case history.Lead:
			shut(e.ID, e.NS)
			for _, id := range ids { // an earlier leader may not know yet that it is deposed
				if b := open[id]; b != nil && b.Kind == "lead" {
					old := *b
					shut(id, e.NS)
					open[id] = &bar{Lane: old.Lane, From: t.ms(e.NS), Kind: "deposed",
						Text: old.Text + " in its own view; another replica leads"}
				}
			}
			open[e.ID] = &bar{Lane: i, From: t.ms(e.NS), Kind: "lead", Text: fmt.Sprintf("%s leads term %d", e.ID, e.Term)}
			continue
		case history.Follow, history.Start:
			shut(e.ID, e.NS)
		case history.Stop:
			shut(e.ID, e.NS)
			open[e.ID] = &bar{Lane: i, From: t.ms(e.NS), Kind: "down",
				Text: strings.TrimSpace(fmt.Sprintf("%s is down %s", e.ID, stopText(e)))}
			continue
		}
		t.tick(e.ID, "", e.NS, "event", eventText(e))
	}
	for _, id := range ids {
		shut(id, h.End())
	}
}

func stopText(e *history.Replica) string {
	if e.Code != 0 {
		return fmt.Sprintf("(exit %d) %s", e.Code, e.Text)
	}
	return e.Text
}

func eventText(e *history.Replica) string {
	out := e.ID + ": " + string(e.Kind)
	if e.Term != 0 {
		out += fmt.Sprintf(", term %d", e.Term)
	}
	if e.Index != 0 {
		out += fmt.Sprintf(", index %d", e.Index)
	}
	if e.For != "" {
		out += ", for " + e.For
	}
	if len(e.Voters) > 0 {
		out += ", voters " + strings.Join(e.Voters, " ")
	}
	return strings.TrimSpace(out + " " + e.Text)
}

func (t *timeline) operations(h *history.History) {
	for _, c := range h.Calls() {
		kind, at := string(c.Type), c.Return
		if at == history.Endless {
			at = c.NS
		}
		t.tick(clientOf(&c.Op), "clients", at, kind, model.Describe(c))
	}
}

// cut drops events until most are left, and says so. It keeps those nearest to the first violation.
// Without a violation, it keeps those that did not succeed and an even sample of the others.
func (t *timeline) cut(most int) {
	all := len(t.Data.Ticks)
	if all > most {
		kept := "refused and unknown operations, and a sample of the others"
		if t.focus == 0 {
			t.Data.Ticks = thin(t.Data.Ticks, most)
		} else {
			kept = "those nearest to the first violation, and refused and unknown operations"
			slices.SortStableFunc(t.Data.Ticks, func(a, b tick) int { return cmp.Compare(t.distance(a), t.distance(b)) })
			t.Data.Ticks = t.Data.Ticks[:most]
		}
		t.shown = fmt.Sprintf("The timeline shows %s of %s events: %s.", number(int64(most)), number(int64(all)), kept)
	}
	slices.SortStableFunc(t.Data.Ticks, func(a, b tick) int { return cmp.Compare(a.At, b.At) })
}

// thin keeps most events: first those that did not succeed, then the others, each by an even
// sample.
func thin(ticks []tick, most int) []tick {
	slices.SortStableFunc(ticks, func(a, b tick) int { return cmp.Compare(a.At, b.At) })
	var all, seen [2]int // by tick.sort
	for _, k := range ticks {
		all[k.sort()]++
	}
	bad := min(all[0], most)
	keep := [2]int{bad, most - bad}
	return slices.DeleteFunc(ticks, func(k tick) bool {
		i := k.sort()
		seen[i]++
		return seen[i]*keep[i]/all[i] == (seen[i]-1)*keep[i]/all[i]
	})
}

// sort returns 1 for events that succeeded, otherwise 0.
func (k tick) sort() int {
	if k.Kind == "ok" || k.Kind == "order" {
		return 1
	}
	return 0
}

func (t *timeline) distance(k tick) float64 {
	d := k.At - t.Data.Focus
	if d < 0 {
		d = -d
	}
	if k.sort() == 0 {
		d /= 10
	}
	return d
}
