package scheduler

import (
	"math"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// maxApplication is the largest sequence number of an application: on Hadoop's
// wire it is a signed number of 32 bits.
const maxApplication = math.MaxInt32

func noMoreIDs() *input.Fault {
	return input.Faultf(input.TooLarge, "back the cluster up and restore it: the ids begin anew", "the ids of applications are used up")
}

func alreadyEnded(a *state.App) *input.Fault {
	return input.Faultf(input.AlreadyEnded, "", "application %s is %s", a.ID, a.Shown())
}

// newApplication reserves the next id.
func (p *Planner) newApplication(in *input.NewApplication) input.Reply {
	seq := max(p.st.Meta.NextApp, 1)
	if seq > maxApplication {
		return input.Refuse(in, noMoreIDs())
	}
	p.emit(&event.ApplicationIDGiven{App: seq})
	return &input.NewApplicationReply{ID: yarn.ApplicationID{ClusterTimestamp: p.st.Meta.ClusterTimestamp, Seq: seq}, Maximum: p.cfg.MaxAlloc}
}

// setLifetime bounds an application's time anew, within its queue's maximum.
func (p *Planner) setLifetime(in *input.SetLifetime) input.Reply {
	slot := p.st.AppByID(in.ID)
	if slot == 0 {
		return input.Refuse(in, p.noSuchApp(in.ID))
	}
	a := p.st.Apps.Get(slot)
	switch {
	case a.Shown().Ended():
		return input.Refuse(in, alreadyEnded(a))
	case in.LifetimeMillis < 0:
		return input.Refuse(in, input.Faultf(input.InvalidRequest, "give a time of zero or more; zero is no bound", "a lifetime of %d ms is none", in.LifetimeMillis))
	}
	millis := in.LifetimeMillis
	if most := p.cfg.Queues[p.indexOf[a.Queue]].MaxLifetime * 1000; most > 0 && (millis == 0 || millis > most) {
		millis = most
	}
	if millis != a.LifetimeMillis {
		p.emit(&event.ApplicationLifetimeChanged{App: a.ID.Seq, LifetimeMillis: millis})
	}
	return in.NewReply()
}
