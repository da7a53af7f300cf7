package check

import (
	"fmt"

	"rmd/jepsen-lite/history"
	"rmd/jepsen-lite/ledger"
)

// followLog builds the ledger of the committed log and takes over its violations and notes.
func (j *judge) followLog() (notes []string) {
	ids := []string{"S4", "S6", "S7", "S8", "S9", "S10", "S17", "S18", "S20", "L7", ledger.Audit}
	if j.renewed {
		for _, id := range ids {
			j.found[id].Why = "a restore or recovery replaced the log, so the log alone does not explain the state"
		}
		return nil
	}
	m := ledger.New()
	dumps := byIndex(j.h.Dumps)
	for _, e := range j.h.Entries {
		if e.Kind != history.Command {
			continue
		}
		if err := m.Entry(e.Index, e.Term, e.Data); err != nil {
			for _, id := range ids {
				j.found[id].Why = err.Error()
			}
			return nil
		}
		j.compare(m, dumps[e.Index])
	}
	if m.Counts.Entries == 0 {
		for _, id := range ids {
			j.found[id].Why = "the log is not part of the history"
		}
		return nil
	}
	j.log = m
	j.copyLedger(m)
	for _, text := range m.Recount() {
		j.found["S9"].fail(j.timeOf(m.Index()), nil, "%s", text)
	}
	for _, n := range m.Notes() {
		notes = append(notes, n.String())
	}
	return notes
}

// copyLedger copies the ledger's counts and violations to the findings.
func (j *judge) copyLedger(m *ledger.Ledger) {
	c := m.Counts
	for _, x := range []struct {
		id, unit string
		n        uint64
	}{
		{"S5", "requests", 0}, {"S6", "containers", c.Containers}, {"S7", "placements", c.Decisions},
		{"S8", "reservations", c.Reservations},
		{"S9", "balances", c.Balances}, {"S10", "ends", c.Terminal}, {"S17", "warnings", c.Warned},
		{"S18", "warnings", c.Warned}, {"S20", "containers lent", c.Lent}, {"L7", "debts", m.Owed().Judged},
		{ledger.Audit, "decisions", c.Decisions},
	} {
		f := j.found[x.id]
		f.Unit = x.unit
		f.Checked += x.n
	}
	for _, v := range m.Violations() {
		j.found[v.ID].fail(j.timeOf(v.Index), j.steps(v.Chain), "%s at index %d (term %d)", v.Text, v.Index, v.Term)
	}
}

// steps returns events of the log as links, with the times of their entries.
func (j *judge) steps(chain []ledger.Step) []Link {
	var out []Link
	for _, s := range chain {
		out = append(out, Link{NS: j.timeOf(s.Index), Lane: "log", Index: s.Index,
			Text: fmt.Sprintf("index %d, term %d: %s", s.Index, s.Term, s.Text)})
	}
	return out
}

func byIndex(dumps []*history.Dump) map[uint64][]*history.Dump {
	out := map[uint64][]*history.Dump{}
	for _, d := range dumps {
		out[d.Index] = append(out[d.Index], d)
	}
	return out
}

// compare compares the sums of queues and nodes that replicas report with the ledger at the same
// index: S9.
func (j *judge) compare(m *ledger.Ledger, dumps []*history.Dump) {
	for _, d := range dumps {
		f := j.found["S9"]
		fields := make([]ledger.Field, 0, len(d.Fields))
		for _, x := range d.Fields {
			fields = append(fields, ledger.Field(x))
		}
		f.Checked += uint64(len(fields))
		for _, text := range m.Differ(fields) {
			f.fail(d.NS, []Link{{NS: d.NS, Lane: d.Replica, Index: d.Index, Text: text}}, "on %s at index %d %s", d.Replica,
				d.Index, text)
		}
	}
}
