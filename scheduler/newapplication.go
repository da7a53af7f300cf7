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

// maxPlaces bounds the hosts and racks that an AM is asked at.
const maxPlaces = 1000

// checkPlaces holds that every place is a host or rack, and named once.
func checkPlaces(places []yarn.Place) *input.Fault {
	if len(places) > maxPlaces {
		return input.Faultf(input.TooLarge, "name fewer hosts and racks", "the AM is asked at %d places, at most %d are taken", len(places), maxPlaces)
	}
	named := make(map[string]bool, len(places)) // looked up by key only
	for _, p := range places {
		if p.Name == "" || p.Name == yarn.Any || named[p.Name] {
			return input.Faultf(input.InvalidAsk, "name each host and rack once", "the AM is asked at %q, which is no host or rack, or there twice", p.Name)
		}
		named[p.Name] = true
	}
	return nil
}
