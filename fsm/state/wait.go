package state

import "rmd/yarn"

// WaitsSince returns the time since when an application has been waiting. An application without a
// registered AM waits for its AM, since its submission or, if it has run before, since its present
// attempt began. Any other one waits for a container, since it made the oldest of its present
// reservations. WaitsSince returns 0 for an application that has ended or has no reservation: the
// state does not record since when other asks wait.
func (s *Running) WaitsSince(a *App) int64 {
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
	for _, r := range s.Reservations.Of(a) {
		if since == 0 || r.MadeMillis < since {
			since = r.MadeMillis
		}
	}
	return since
}

// WaitingMillis returns for how long an application has been waiting, or 0 if WaitsSince is 0.
func (s *Running) WaitingMillis(a *App) int64 {
	since := s.WaitsSince(a)
	if since == 0 {
		return 0
	}
	return max(s.Meta.NowMillis-since, 0)
}
