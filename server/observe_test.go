package server

import (
	"testing"

	"rmd/scheduler/explain"
)

// TestObserverLogsOnce checks that a decision which stays the same from round to round is logged
// once, and again if it comes back.
func TestObserverLogsOnce(t *testing.T) {
	set := func(app string, containers ...string) explain.PreemptionSet {
		s := explain.PreemptionSet{App: app}
		for _, id := range containers {
			s.Containers = append(s.Containers, explain.PreemptionContainer{ID: id})
		}
		return s
	}
	o := &preemptionObserver{}
	for i, round := range []struct {
		sets []explain.PreemptionSet
		news int
	}{
		{[]explain.PreemptionSet{set("a", "1", "2")}, 1},
		{[]explain.PreemptionSet{set("a", "1", "2"), set("b", "3")}, 1},
		{[]explain.PreemptionSet{set("b", "3"), set("c", "1", "2")}, 1},
		{nil, 0},
		{[]explain.PreemptionSet{set("b", "3")}, 1},
	} {
		if news := o.news(round.sets); len(news) != round.news {
			t.Errorf("round %d tells %+v", i, news)
		}
	}
}
