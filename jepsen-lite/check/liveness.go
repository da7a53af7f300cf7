package check

import (
	"fmt"
	"slices"
	"time"

	"rmd/jepsen-lite/history"
)

// liveness checks L1 to L5. L1 to L3 concern the recovery phase.
func (j *judge) liveness() {
	recovery, ok := j.h.MarkAt(history.Recovery)
	if !ok {
		for _, id := range []string{"L1", "L2", "L3"} {
			j.found[id].Why = "the history has no recovery phase"
		}
	} else {
		j.leaderBack(recovery)
		j.caughtUp(recovery)
		j.placed(recovery)
	}
	j.bounded(recovery)
	j.disks()
}

func (f *Finding) observe(d int64) {
	if d >= f.Max {
		f.Max = d
		f.Figure = "max " + short(time.Duration(d))
	}
}

// short formats a duration with about two digits for a report.
func short(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f min", d.Minutes())
}

// leaderBack checks L1: a leader within ten election timeouts, and an acknowledged write within
// Options.Recovery.
func (j *judge) leaderBack(recovery int64) {
	f := j.found["L1"]
	leading := map[string]bool{}
	elected := int64(-1)
	for _, e := range j.h.Replicas {
		switch {
		case e.NS > recovery && e.Kind == history.Lead && elected < 0:
			elected = e.NS - recovery
		case e.NS > recovery:
		case e.Kind == history.Lead:
			leading[e.ID] = true
		case e.Kind == history.Follow, e.Kind == history.Stop, e.Kind == history.Start:
			delete(leading, e.ID)
		}
	}
	wrote, asked := j.nextWrite(recovery)
	if !asked && elected < 0 && len(leading) == 0 && len(j.h.Replicas) == 0 {
		return
	}
	f.Checked++
	f.Unit = "recoveries"
	limit := int64(10 * j.opt.Election)
	switch {
	case len(leading) == 0 && elected < 0:
		f.fail(recovery, []Link{{NS: recovery, Text: "the last fault has ended"}}, "no replica leads after the last fault")
		return
	case len(leading) == 0 && elected > limit:
		f.fail(recovery+elected, []Link{{NS: recovery, Text: "the last fault has ended"}},
			"the first leader appears %s after the last fault; the limit is %s", time.Duration(elected), time.Duration(limit))
	case asked && (wrote < 0 || wrote > int64(j.opt.Recovery)):
		f.fail(recovery, []Link{{NS: recovery, Text: "the last fault has ended"}},
			"no write is acknowledged within %s after the last fault", j.opt.Recovery)
	}
	if len(leading) == 0 {
		f.observe(elected)
	} else {
		f.observe(max(0, min(wrote, max(elected, 0))))
	}
}

// nextWrite returns the time from `from` to the first acknowledgement of a write that was called
// after it, or -1 if there was none. asked says whether such a write was called.
func (j *judge) nextWrite(from int64) (after int64, asked bool) {
	after = -1
	for _, c := range j.calls {
		if c.NS < from || c.F.Reads() {
			continue
		}
		asked = true
		if c.Type == history.OK && (after < 0 || c.Return-from < after) {
			after = c.Return - from
		}
	}
	return after, asked
}

// caughtUp checks L2: every running replica reaches the highest index that was applied before the
// recovery phase.
func (j *judge) caughtUp(recovery int64) {
	f := j.found["L2"]
	f.Unit = "replicas"
	head := j.headAt(recovery)
	if head == 0 {
		f.Why = "nothing was applied before the recovery phase"
		return
	}
	reached := map[string]int64{}
	runs := map[string]bool{}
	var order []string
	for _, e := range withoutEnd(j.h.Replicas) {
		if _, known := runs[e.ID]; !known {
			order = append(order, e.ID)
			runs[e.ID] = true
		}
		switch e.Kind {
		case history.Start:
			runs[e.ID] = true
			delete(reached, e.ID)
		case history.Stop:
			runs[e.ID] = false
		case history.Apply, history.Restore:
			if _, ok := reached[e.ID]; !ok && e.Index >= head {
				reached[e.ID] = e.NS
			}
		}
	}
	for _, id := range order {
		r := j.streams.replicas[id]
		if !runs[id] || r == nil || r.removed || !j.streams.member(id) {
			continue
		}
		f.Checked++
		at, ok := reached[id]
		late := max(0, at-recovery)
		if !ok || late > int64(j.opt.Recovery) {
			f.fail(recovery, []Link{{NS: recovery, Index: head,
				Text: fmt.Sprintf("the last fault has ended; index %d is applied", head)},
				{NS: j.h.End(), Lane: id, Index: r.applied, Text: fmt.Sprintf("%s is at index %d", id, r.applied)}},
				"%s is at index %d at the end, but index %d was applied before the recovery phase", id, r.applied, head)
			continue
		}
		f.observe(late)
	}
}

// withoutEnd leaves out the stops at the very end. They are the harness's own.
func withoutEnd(events []*history.Replica) []*history.Replica {
	n := len(events)
	for n > 0 && events[n-1].Kind == history.Stop {
		n--
	}
	return events[:n]
}

// quiet is how long the cluster must make no decision before waiting work counts as stuck.
const quiet = 3 * time.Second

// placed checks L3 in the state at the end of the log.
func (j *judge) placed(recovery int64) {
	f := j.found["L3"]
	f.Unit = "states"
	if j.log == nil {
		f.Why = "the log is not part of the history"
		return
	}
	end := j.h.End()
	if lastNS := j.timeOf(j.log.Index()); end-max(lastNS, recovery) < int64(quiet) {
		f.Why = "the cluster made decisions until the end"
	} else {
		f.Checked++
		if stuck := j.log.Stuck(); len(stuck) > 0 {
			f.fail(end, j.steps(stuck), "%s", stuck[0].Text)
		}
		if sure, _ := j.log.Waiting(); len(sure) > 0 {
			f.fail(end, j.steps(sure), "%s", sure[0].Text)
		}
	}
	if !j.opt.WorkEnds {
		return
	}
	f.Checked++
	for _, a := range j.log.Apps() {
		if a.Ended == 0 {
			f.fail(end, nil, "%s (%s) is %s at the end", a.ID, a.Name, a.State)
		}
	}
}

// bounded checks L4: it counts the actions that could repeat for ever.
func (j *judge) bounded(recovery int64) {
	f := j.found["L4"]
	f.Unit = "repetitions"
	var installs, campaigns, resyncs int
	for _, e := range j.h.Replicas {
		switch {
		case e.Kind == history.Install:
			installs++
		case e.Kind == history.Campaign && recovery != 0 && e.NS > recovery:
			campaigns++
		case e.Kind == history.Resync:
			resyncs++
		}
	}
	retries, worst := map[string]int{}, 0
	for _, c := range j.calls {
		if c.In.Key != "" && !c.F.Reads() {
			retries[c.In.Key]++
			worst = max(worst, retries[c.In.Key])
		}
	}
	if len(j.h.Replicas) == 0 && len(retries) == 0 {
		return
	}
	f.Checked += uint64(1 + installs + campaigns + resyncs + worst)
	f.Figure = fmt.Sprintf("%d installs", installs)
	for _, x := range []struct {
		what       string
		n, ceiling int
	}{{"snapshots were installed", installs, j.opt.Ceilings.Installs},
		{"elections were started after the recovery phase began", campaigns, j.opt.Ceilings.Campaigns},
		{"nodes and AMs were told to resynchronize", resyncs, j.opt.Ceilings.Resyncs},
		{"calls repeated one request", worst, j.opt.Ceilings.Retries}} {
		if x.ceiling > 0 && x.n > x.ceiling {
			f.fail(j.h.End(), nil, "%d %s; the limit is %d", x.n, x.what, x.ceiling)
		}
	}
}

// disks checks L5: while one disk is slow, full or hung and there is no other fault, writes
// continue within the watchdog's limit. disks measures the longest time without an acknowledgement
// until the fault ends or another one begins.
func (j *judge) disks() {
	f := j.found["L5"]
	f.Unit = "faults"
	var acks []int64
	for _, c := range j.calls {
		if c.Type == history.OK && !c.F.Reads() {
			acks = append(acks, c.Return)
		}
	}
	slices.Sort(acks)
	limit := int64(j.opt.Watchdog + 10*j.opt.Election)
	for i, x := range j.h.Faults {
		if x.When != history.Begin || len(x.On) != 1 || !x.Disk {
			continue
		}
		to, alone := j.aloneUntil(i)
		gap, asked := j.silence(acks, x.NS, to)
		if !alone || !asked {
			continue
		}
		f.Checked++
		if gap > limit {
			f.fail(x.NS, []Link{faultLink(x, x.Text)}, "%s on %s: no write was acknowledged for %s; the limit is %s", x.Kind,
				list(x.On), time.Duration(gap).Round(time.Millisecond), time.Duration(limit))
		}
		f.observe(gap)
	}
}

// silence returns the longest time without an acknowledgement between from and to. asked says
// whether a write was called in that time.
func (j *judge) silence(acks []int64, from, to int64) (gap int64, asked bool) {
	for _, c := range j.calls {
		if !c.F.Reads() && c.NS >= from && c.NS < to {
			asked = true
			break
		}
	}
	at := from
	first, _ := slices.BinarySearch(acks, from)
	for _, ns := range acks[first:] {
		if ns > to {
			break
		}
		gap, at = max(gap, ns-at), ns
	}
	return max(gap, to-at), asked
}

// aloneUntil reports whether there is no other fault when a fault begins, and until when it stays
// the only one.
func (j *judge) aloneUntil(i int) (until int64, ok bool) {
	open := map[int]bool{}
	for k, x := range j.h.Faults {
		switch {
		case k < i && x.When == history.Begin:
			open[x.ID] = true
		case k < i && x.When == history.End:
			delete(open, x.ID)
		case k > i && (x.When != history.End || x.ID == j.h.Faults[i].ID):
			return x.NS, len(open) == 0
		}
	}
	return j.h.End(), len(open) == 0
}
