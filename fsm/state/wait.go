package state

import "rmd/yarn"

// WaitsSince is when an application began to wait for what it waits for now: its AM, since it was
// submitted or since the attempt after a failed one began; or a container, since the first of the
// nodes that it holds was reserved. 0: it waits for nothing, or only for containers for which it
// holds no node. Of those nobody keeps the time.
func (s *State) WaitsSince(a *App) int64 {
	switch {
	case a.State.Ended():
		return 0
	case a.State == yarn.AppSubmitted || a.State == yarn.AppAccepted:
		if a.StartedMillis == 0 {
			return a.SubmittedMillis
		}
		return a.AttemptMillis
	}
	var since int64
	for _, r := range s.ReservationsOf(a) {
		if since == 0 || r.MadeMillis < since {
			since = r.MadeMillis
		}
	}
	return since
}

// WaitingMillis is for how long an application has been waiting, from WaitsSince; 0 where that is.
func (s *State) WaitingMillis(a *App) int64 {
	since := s.WaitsSince(a)
	if since == 0 {
		return 0
	}
	return max(s.Meta.NowMillis-since, 0)
}
