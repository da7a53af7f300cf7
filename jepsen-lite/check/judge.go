package check

import (
	"cmp"
	"slices"

	"rmd/jepsen-lite/history"
	"rmd/jepsen-lite/ledger"
)

// judge is the data that the checks of one run share.
type judge struct {
	h       *history.History
	opt     Options
	found   findings
	calls   []history.Call
	log     *ledger.Ledger // nil if the log cannot be followed
	streams *Streams
	times   []appliedAt // ascending by index: when an entry was first applied
	heads   []appliedAt // in the order of time; the highest index applied until then
	renewed bool        // the log was replaced on purpose within the run
}

// appliedAt is the time at which an index was first applied on any replica.
type appliedAt struct {
	index uint64
	ns    int64
}

// Judge checks a history against all invariants. It returns an error only for invalid options.
func Judge(h *history.History, opt Options) (*Verdict, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	j := &judge{h: h, opt: opt, streams: NewStreams(), calls: h.Calls()}
	for _, e := range h.Replicas {
		j.streams.Add(e)
		j.renewed = j.renewed || e.Fresh
	}
	for _, c := range j.calls {
		j.renewed = j.renewed || c.F == history.RestoreSnapshot && c.Type != history.Fail
	}
	j.streams.count()
	j.found = j.streams.found
	j.recordApplyTimes()
	notes := j.followLog()
	j.clients()
	j.grants()
	j.orders()
	j.masters()
	j.reads()
	j.sessions()
	j.damage()
	j.liveness()
	v := j.found.verdict()
	v.Notes = notes
	return v, nil
}

// recordApplyTimes records when each index was first applied, from entries and streams.
func (j *judge) recordApplyTimes() {
	first := map[uint64]int64{}
	see := func(index uint64, ns int64) {
		if have, ok := first[index]; ns != 0 && (!ok || ns < have) {
			first[index] = ns
		}
	}
	for _, e := range j.h.Entries {
		see(e.Index, e.NS)
	}
	for _, e := range j.h.Replicas {
		if e.Kind == history.Apply {
			see(e.Index, e.NS)
		}
	}
	for index, ns := range first { // sorted below
		j.times = append(j.times, appliedAt{index, ns})
	}
	slices.SortFunc(j.times, func(a, b appliedAt) int { return cmp.Compare(a.index, b.index) })
}

// timeOf returns the time at which an index was first applied, or 0 if it is unknown.
func (j *judge) timeOf(index uint64) int64 {
	i, ok := slices.BinarySearchFunc(j.times, index,
		func(a appliedAt, index uint64) int { return cmp.Compare(a.index, index) })
	if !ok {
		return 0
	}
	return j.times[i].ns
}

// headAt returns the highest index applied on any replica at a time.
func (j *judge) headAt(ns int64) uint64 {
	if j.heads == nil {
		j.heads = slices.Clone(j.times)
		slices.SortStableFunc(j.heads, func(a, b appliedAt) int { return cmp.Compare(a.ns, b.ns) })
		for i := 1; i < len(j.heads); i++ {
			j.heads[i].index = max(j.heads[i].index, j.heads[i-1].index)
		}
	}
	i, _ := slices.BinarySearchFunc(j.heads, ns, func(a appliedAt, ns int64) int {
		if a.ns <= ns {
			return -1
		}
		return 1
	})
	if i == 0 {
		return 0
	}
	return j.heads[i-1].index
}

// callLink returns a call as a link of a chain, at the time of its return.
func callLink(c history.Call, text string) Link {
	ns := c.Return
	if ns == history.Endless {
		ns = c.NS
	}
	return Link{NS: ns, Lane: c.Client, Index: c.Out.Index, Text: text}
}
