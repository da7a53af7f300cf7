package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/leading"
	"rmd/cluster/local"
	"rmd/cluster/progress"
	"rmd/cluster/rafttransport"
	"rmd/cluster/servers"
)

// A leader that hears from its followers and commits nothing would lead forever: raft's heartbeats
// depend on nothing that commits. So a leader steps down when something has waited too long without
// progress, if another replica could do better:
//
//  1. It tells the voter with the longest log to campaign. This bypasses raft, whose main loop may
//     be blocked.
//  2. It is muted: it sends no more entries, heartbeats and requests for votes. So its leadership
//     ends even if that voter does not campaign. It tells the parts above that it no longer leads, so
//     that they send calls to the next leader.
//  3. It stays muted until another replica leads and nothing of its own hangs, so it does not return
//     at once. If nobody else can be elected, or nobody is within StallLimit, it may try: its log may
//     be the only one that can win.
//
// If the followers refuse an entry, those that refuse it may form a majority without this replica.
// Their leader replaces the entry, which was never committed. If no majority could do better, the
// leader stays: an election would change nothing.

// The values of StepDown.Cause.
const (
	CauseDisk   = "disk"      // a write to this replica's disk does not return
	CauseLoop   = "raft"      // raft's main loop serves no requests
	CauseApply  = "apply"     // committed entries are not applied
	CauseWork   = "work"      // the work above Raft hangs (WatchWork)
	CauseCommit = "followers" // entries are not committed, although this replica works
)

// causes has the cause of each kind of stall.
var causes = [progress.StallKinds]string{progress.StallLoop: CauseLoop, progress.StallApply: CauseApply,
	progress.StallWork: CauseWork, progress.StallCommit: CauseCommit}

// StepDownCauses returns all values of StepDown.Cause.
func StepDownCauses() []string { return append([]string{CauseDisk}, causes[:]...) }

// stepDowns makes a leader without progress step down.
type stepDowns struct {
	*local.Replica
	lead     *leading.Watch
	progress *progress.Watch

	last   atomic.Pointer[local.StepDown]
	asking atomic.Bool // voters are being told to campaign
	gaveUp atomic.Bool // this replica stepped down, and knows no leader since

	// The fields below belong to watchProgress.
	term       uint64        // in which this replica leads, 0 if it does not
	led        time.Duration // since then
	well       time.Duration // for how long this replica has led without half a stall
	leaderless time.Duration // for how long no leader is known
	tries      int           // to step down, since this replica last led well for StallLimit
	alone      bool          // it was logged that no other replica could lead
}

const (
	// triesMax limits how often patience doubles.
	triesMax = 5
	// stepDownShown is how long Problem shows the last step-down.
	stepDownShown = 5 * time.Minute
)

// watchProgress measures stalls until the cluster closes, and makes a leader without progress step
// down. Of each interval no more than twice its nominal length counts: if this process was stopped,
// that is no stall.
func (s *stepDowns) watchProgress() {
	s.Watch(func(_ time.Time, passed time.Duration) (goOn bool) {
		passed = min(passed, 2*local.WatchInterval)
		s.progress.Observe(passed)
		s.judgeLeadership(passed)
		return true
	})
}

// patience is a limit, doubled for each try to step down since this replica last led well. So
// leadership does not go in circles if the others do no better.
func (s *stepDowns) patience(limit time.Duration) time.Duration {
	return limit << min(s.tries, triesMax)
}

// judgeLeadership makes this replica step down, or ends its muting. watchProgress calls it after
// each look at the work.
func (s *stepDowns) judgeLeadership(passed time.Duration) {
	s.observeLeadership(passed)
	if s.term != 0 {
		s.judgeLeader()
	} else {
		s.judgeFollower()
	}
}

// observeLeadership records for how long this replica leads or knows no leader.
func (s *stepDowns) observeLeadership(passed time.Duration) {
	in := s.Current()
	var term uint64
	if in.Raft.State() == raft.Leader {
		term = in.Raft.CurrentTerm()
	}
	if term != s.term {
		s.term, s.led, s.well = term, 0, 0
		if term != 0 {
			s.gaveUp.Store(false)
		}
	}
	s.led += passed
	s.well += passed
	if age, _ := s.progress.Stalls.Worst(); age > s.progress.StallLimit()/2 {
		s.well = 0
	}
	s.leaderless += passed
	if _, leader := s.lead.LeaderOf(in); leader != "" {
		s.leaderless = 0
		if leader != s.Identity().ServerID() {
			s.gaveUp.Store(false)
		}
	}
}

// judgeLeader makes a leader without progress step down.
func (s *stepDowns) judgeLeader() {
	limit := s.patience(s.progress.StallLimit())
	cause, why := s.stalled(s.patience(s.Config.HungGiveUp), limit)
	switch {
	case cause == "":
		s.alone = false
		if s.well > s.progress.StallLimit() {
			s.tries = 0
		}
	case cause != CauseDisk && s.led < limit: // the stall may be older than this leadership
	case !s.Transport.Muted() && !s.asking.Load():
		s.stepDown(local.StepDown{Term: s.term, Cause: cause, Why: why, At: time.Now()})
	}
}

// judgeFollower mutes a replica that does not lead while something of its own hangs, and after it
// stepped down until another one leads. If no leader is or can be elected without it, it must try.
func (s *stepDowns) judgeFollower() {
	cause, why := s.stalled(s.Config.HungGiveUp, s.progress.StallLimit())
	hangs := cause != "" && cause != CauseCommit
	waits := s.gaveUp.Load() && len(s.successors(true)) > 0
	mute := (hangs || waits) && s.leaderless < s.progress.StallLimit()
	if mute == s.Transport.Muted() {
		return
	}
	s.Transport.Mute(mute)
	s.Go(func() {
		if mute {
			s.Log.Error("this replica makes no progress and must not lead", "cause", cause, "why", why)
		} else {
			s.Log.Info("this replica may lead again")
		}
	})
}

// stalled returns the cause of the stall of a write that has lasted for disk, or of another stall
// that has lasted for limit. It returns "" if there is none.
func (s *stepDowns) stalled(disk, limit time.Duration) (cause, why string) {
	if age := s.Guard.OldestWrite(time.Now()); age >= disk {
		return CauseDisk, fmt.Sprintf("a disk write has not returned for %s", age.Round(time.Second))
	}
	kind, why := s.progress.Stalls.Beyond(limit)
	if kind == progress.StallKinds {
		return "", ""
	}
	return causes[kind], why
}

// stepDown gives up leadership if another replica could lead.
func (s *stepDowns) stepDown(d local.StepDown) {
	next := s.successors(!raftHangs(d))
	if len(next) == 0 && (!raftHangs(d) || len(servers.Voters(s.Configuration())) == 1) {
		if !s.alone {
			s.alone = true
			s.Go(func() { // the watch must not depend on the logger
				s.Log.Error("this leader makes no progress, and no other replica could do better", "cause", d.Cause, "why", d.Why)
			})
		}
		return
	}
	s.tries++
	s.asking.Store(true)
	s.Go(func() {
		defer s.asking.Store(false)
		s.giveUp(d, next)
	})
}

// raftHangs reports whether raft itself hangs, so that staying leader helps nobody: the others elect a
// leader as soon as they can.
func raftHangs(d local.StepDown) bool { return d.Cause == CauseLoop || d.Cause == CauseDisk }

// giveUp tells the first of some voters that agrees to campaign, and mutes this replica. It keeps
// leadership if nobody agrees, unless raft hangs.
func (s *stepDowns) giveUp(d local.StepDown, next []raft.Server) {
	var errs []error
	i := slices.IndexFunc(next, func(v raft.Server) bool {
		err := s.lead.Succession.RequestElection(v)
		errs = append(errs, err)
		return err == nil
	})
	if i < 0 && !raftHangs(d) {
		s.Log.Warn("no voter starts an election", "error", errors.Join(errs...))
		return
	}
	s.gaveUp.Store(true)
	s.Transport.Mute(true)
	s.last.Store(&d)
	select {
	case s.Current().Notify <- false: // for watchLeadership
	default:
	}
	if s.Config.OnStepDown != nil {
		s.Config.OnStepDown(d)
	}
	s.Log.Error("this leader makes no progress: giving up leadership", "cause", d.Cause, "why", d.Why, "term", d.Term)
}

// successors returns the voters that could lead in place of this leader, the longest log first. They
// are alive, and are not the cause themselves. They form a majority, or one with this replica's vote.
// A replica votes if its raft works, and only for a log that is at least as long as its own.
func (s *stepDowns) successors(votes bool) []raft.Server {
	all, self, term := servers.Voters(s.Configuration()), s.Identity().ServerID(), s.Term()
	last := func(v raft.Server) uint64 { return s.Transport.Stored(v.ID, term) }
	able := slices.DeleteFunc(slices.Clone(all), func(v raft.Server) bool {
		return v.ID == self || !s.alive(v.ID) || s.hinders(v.ID)
	})
	slices.SortStableFunc(able, func(a, b raft.Server) int { return cmp.Compare(last(b), last(a)) })
	quorum := len(all)/2 + 1
	switch {
	case len(able) >= quorum:
		return able
	case votes && len(able)+1 >= quorum:
		return slices.DeleteFunc(able, func(v raft.Server) bool { return last(v) < s.LastIndex() })
	}
	return nil
}

// aliveWithin is how old the last sign of life may be of a voter whose status is sent all the time.
const aliveWithin = 2 * time.Second

// alive reports whether a voter has answered a request of Raft, sent one or sent its status a moment
// ago. The goroutine that sends requests to it may hang too. A muted replica sends none, so it may
// hear only requests for votes. Between two of them a candidate waits up to two election timeouts.
func (s *stepDowns) alive(id raft.ServerID) bool {
	within := max(aliveWithin, 3*s.Config.Election)
	return time.Since(s.Transport.HeardAt(id)) < within || time.Since(s.lead.Succession.HeardAt(id)) < within
}

// hinders reports whether a follower stores no entries because of itself, such as its full disk.
func (s *stepDowns) hinders(id raft.ServerID) bool {
	return slices.ContainsFunc(s.Transport.Refusals(s.Configuration()),
		func(r rafttransport.Refusal) bool { return r.Server == id && !r.OfEntry })
}

// stepDownText says that this replica gave up leadership a short time ago, or returns "".
func (s *stepDowns) stepDownText() string {
	d := s.last.Load()
	if d == nil || time.Since(d.At) > stepDownShown {
		return ""
	}
	return fmt.Sprintf("gave up leadership of term %d at %s: %s", d.Term, d.At.Format("15:04:05 MST"), d.Why)
}
