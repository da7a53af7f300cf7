package scenario

import (
	"bytes"
	"slices"
	"time"

	"rmd/jepsen-lite/harness"
	"rmd/jepsen-lite/history"
)

// logs stops all replicas and compares their logs: up to the highest index that a majority has, all
// must have the same entry at an index. It adds the longest log to the history.
func (r *run) logs() {
	all := map[string][]*history.Entry{}
	var ends []uint64
	for _, p := range r.cluster.Replicas {
		if p.Runs() == 0 {
			continue
		}
		if err := p.Terminate(20 * time.Second); err != nil {
			r.violate("exit", "%v", err)
		}
		if !p.Voter {
			continue
		}
		entries, err := p.Log()
		if err != nil {
			r.violate("S16", "%v", err)
		}
		if len(entries) > 0 {
			all[p.ID] = entries
			ends = append(ends, entries[len(entries)-1].Index)
		}
	}
	majority := r.opt.Replicas/2 + 1
	if len(ends) < majority {
		return
	}
	slices.Sort(ends)
	common := ends[len(ends)-majority]
	r.compareLogs(all, common)
	var longest []*history.Entry
	var whose string
	for _, p := range r.cluster.Voters() {
		if e := all[p.ID]; len(e) > 0 && e[len(e)-1].Index >= common && (longest == nil || e[0].Index < longest[0].Index) {
			longest, whose = e, p.ID
		}
	}
	r.addMissing(whose, longest, common)
}

// addMissing adds to the history what it lacks of a log.
func (r *run) addMissing(whose string, log []*history.Entry, common uint64) {
	var covered uint64
	whole := true
	if r.archive != nil {
		covered, whole = r.archive.upTo()
	}
	whole = whole && !r.replaced && (covered == 0 || len(log) > 0 && log[0].Index <= covered+1)
	r.complete = whole
	for _, e := range log {
		switch {
		case e.Index > common || !r.replaced && e.Index <= covered:
		case whole:
			r.rec.Note(e)
			r.membership(whose, e)
		default:
			r.membership(whose, e)
		}
	}
}

// membership records a change of the membership from the log of a replica.
func (r *run) membership(whose string, e *history.Entry) {
	if e.Kind != "configuration" {
		return
	}
	voters, nonvoters, err := harness.Membership(e)
	if err != nil {
		r.violate("S14", "%v", err)
		return
	}
	r.rec.Note(&history.Replica{ID: whose, Kind: history.Config, Index: e.Index, Voters: voters, Nonvoters: nonvoters})
}

func (r *run) compareLogs(all map[string][]*history.Entry, common uint64) {
	type place struct {
		who string
		e   *history.Entry
	}
	at := map[uint64]place{}
	compared := 0
	for who, entries := range all {
		for _, e := range entries {
			if e.Index > common {
				break
			}
			have, ok := at[e.Index]
			if !ok {
				at[e.Index] = place{who, e}
				continue
			}
			compared++
			if have.e.Term != e.Term || have.e.Kind != e.Kind || !bytes.Equal(have.e.Data, e.Data) {
				r.violate("S1",
					"at index %d the log of %s has %s of term %d, but the log of %s has %s of term %d (%d and %d bytes)", e.Index,
					have.who, have.e.Kind, have.e.Term, who, e.Kind, e.Term, len(have.e.Data), len(e.Data))
				return
			}
		}
	}
	r.opt.note("logs: %d entries are equal on all replicas that have them", compared)
}
