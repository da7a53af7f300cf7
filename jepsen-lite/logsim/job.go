package logsim

import (
	"fmt"

	"rmd/yarn"
)

// job is what an application asks for.
type job struct {
	name      string
	id        yarn.ApplicationID // set when the submission is answered
	unmanaged bool
	groups    []group
}

type group struct {
	count int64
	size  yarn.Resource
	host  string // preferred host; empty: none
	label string // requested label; empty: the application's
}

// label draws the label of an application or request. Without LoadLabels, and otherwise in half of
// the cases, it is empty.
func (w *world) label() string {
	if !w.opt.has(LoadLabels) || w.rng.IntN(2) == 0 {
		return ""
	}
	return append([]string{yarn.NoLabel}, labels...)[w.rng.IntN(1+len(labels))]
}

// newJob draws the requests of an application, by the loads of the run.
func (w *world) newJob(name string) *job {
	j := &job{name: name, unmanaged: w.rng.IntN(2) == 0}
	groups := 1 + w.rng.IntN(3)
	for range groups {
		g := group{count: 1 + w.rng.Int64N(5), size: w.size(3)}
		if w.opt.has(LoadTight) || w.rng.IntN(4) == 0 {
			g.count, g.size = 1+w.rng.Int64N(3), w.size(7)
		}
		if w.opt.has(LoadStorm) {
			g.count = 1
		}
		if w.rng.IntN(3) == 0 {
			g.host = w.agents[w.rng.IntN(len(w.agents))].id.Host
		}
		g.label = w.label()
		j.groups = append(j.groups, g)
	}
	if w.opt.has(LoadGang) && w.rng.IntN(12) == 0 {
		j.groups[0] = group{count: 100 + w.rng.Int64N(100), size: yarn.NewResource(1024, 1)}
	}
	w.jobs = append(w.jobs, j)
	return j
}

func (j *job) context(n int) []byte { return fmt.Appendf(nil, "job %d", n) }

// gang returns the gang tag of every third job: the containers of its first group start together.
// After the timeout, the group becomes an ordinary one.
func (j *job) gang(n int) []string {
	if n%3 != 0 {
		return nil
	}
	shape := [...]string{"", ",rack=one", ",per-node=1"}[n/3%3]
	return []string{fmt.Sprintf("%spriority=1,request=0,count=%d%s,timeout=%d,then=ordinary", yarn.GangTag,
		j.groups[0].count, shape, 3+n%20)}
}
