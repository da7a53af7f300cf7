package plots

import (
	"rmd/fsm/state"
	"rmd/transport/http/ui/format"
)

// Moment is an event in an application's life.
type Moment struct {
	What     string
	AtMillis int64
	Since    int64 // since the previous moment
	Now      bool  // the present, not an event
}

// Lifetime returns the moments of an application's life in order, up to a time.
func Lifetime(now int64, a *state.App) []Moment {
	list := []Moment{{What: "submitted", AtMillis: a.SubmittedMillis}}
	put := func(what string, at int64) {
		if at != 0 {
			list = append(list, Moment{What: what, AtMillis: at, Since: max(at-list[len(list)-1].AtMillis, 0)})
		}
	}
	if a.AttemptMillis > a.SubmittedMillis && a.Attempt > 1 {
		put("this attempt began", a.AttemptMillis)
	}
	put("its node took the ApplicationMaster", a.LaunchedMillis)
	if a.StartedMillis >= a.LaunchedMillis {
		put("the ApplicationMaster registered", a.StartedMillis)
	}
	put("the ApplicationMaster unregistered", a.FinishMillis)
	if a.EndedMillis != 0 {
		put("ended: "+format.Word(a.State.String()), a.EndedMillis)
		return list
	}
	list = append(list, Moment{What: "now", AtMillis: now, Since: max(now-list[len(list)-1].AtMillis, 0), Now: true})
	return list
}
