package migration

import (
	"fmt"
	"slices"
	"strings"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/transport/hadoop/client"
	"rmd/transport/hadoop/statestore"
	"rmd/yarn"
)

// Options are the facts about the new cluster that are not in the store.
type Options struct {
	ClusterID  string
	Properties []input.Property // of the queues
	Include    []string         // Include and Exclude are lists of hosts, as in input.SetHosts
	Exclude    []string
	NowMillis  int64
	Entropy    []byte
	Skip       []string // names of the objects to leave out
	By         string   // the operator, for the audit
}

// epochGap is the number of epochs left to the Java ResourceManagers. Each start of them uses one.
// If the operator returns to them, their new container ids differ from those of this cluster.
const epochGap = 100

// Result is the first state with a summary of it.
type Result struct {
	State    *state.State         `json:"-"`
	Version  string               `json:"store_version"`
	Epoch    uint32               `json:"epoch"`
	Running  []yarn.ApplicationID `json:"running"`
	Waiting  []yarn.ApplicationID `json:"waiting"` // applications that wait for an AM
	Ended    int                  `json:"ended"`
	Tokens   int                  `json:"delegation_tokens"`
	LeftOut  []statestore.Problem `json:"left_out"`
	Problems []statestore.Problem `json:"problems"` // the reasons why State is nil
}

// New creates the first state. If Result.Problems is not empty, State is nil.
func New(s *statestore.Store, o Options) (*Result, error) {
	b := &builder{store: s, opt: o, skip: map[string]bool{}, result: &Result{Version: s.Version}}
	for _, name := range o.Skip {
		b.skip[name] = false
	}
	if err := b.begin(); err != nil {
		return nil, err
	}
	for _, p := range s.Problems {
		b.problem(p.Name, p.Do, "%s", p.What)
	}
	apps := b.choose()
	b.replay(apps)
	b.keys()
	if b.err == nil {
		b.finish()
	}
	for _, name := range o.Skip {
		if !b.skip[name] {
			b.result.Problems = append(b.result.Problems,
				statestore.Problem{Name: name, What: "there is nothing of this name to leave out", Do: "correct --skip"})
		}
	}
	if b.err != nil {
		return nil, b.err
	}
	if len(b.result.Problems) == 0 {
		b.result.State = b.st
		return b.result, b.st.Check()
	}
	return b.result, nil
}

// builder builds one state.
type builder struct {
	store  *statestore.Store
	opt    Options
	skip   map[string]bool // whether the name was found
	result *Result
	st     *state.State
	conf   *capacity.Config
	err    error // the first event that the state refused
}

// problem records an object that cannot be taken over, as a problem or as left out.
func (b *builder) problem(name, do, format string, args ...any) {
	p := statestore.Problem{Name: name, What: fmt.Sprintf(format, args...), Do: do}
	if b.skipped(name) {
		b.result.LeftOut = append(b.result.LeftOut, p)
		return
	}
	b.result.Problems = append(b.result.Problems, p)
}

// skipped reports whether the operator left an object out.
func (b *builder) skipped(name string) bool {
	if _, ok := b.skip[name]; !ok {
		return false
	}
	b.skip[name] = true
	return true
}

func (b *builder) apply(e event.Event) {
	if b.err == nil {
		b.err = b.st.Apply(e)
	}
}

// at advances the state's clock to millis. It never goes back.
func (b *builder) at(millis int64) {
	if millis = min(millis, b.opt.NowMillis); millis > b.st.Meta.NowMillis {
		b.apply(&event.TimeAdvanced{NowMillis: millis})
	}
}

// begin initializes a cluster with its queues, before the first application.
func (b *builder) begin() error {
	start := b.opt.NowMillis
	for _, a := range b.store.Applications {
		if a.SubmittedMillis > 0 {
			start = min(start, a.SubmittedMillis)
		}
	}
	p, err := planner.New(state.New(), planner.Options{})
	if err != nil {
		return err
	}
	reply,
		_ := p.Plan(start, input.Request{Input: &input.InitCluster{ClusterID: b.opt.ClusterID, ClusterTimestamp: start,
		Properties: b.opt.Properties,
		Include:    b.opt.Include, Exclude: b.opt.Exclude}})
	if f := reply.Refused(); f != nil {
		return f
	}
	b.st, b.conf = p.State(), p.Config()
	b.st.Meta.Epoch = b.store.Epoch + epochGap
	b.st.Meta.ImportEpoch, b.result.Epoch = b.st.Meta.Epoch, b.st.Meta.Epoch
	return nil
}

// finish creates the keys that nodes need and starts an attempt of each waiting application.
func (b *builder) finish() {
	b.at(b.opt.NowMillis)
	sched, err := scheduler.New(b.st, false)
	if err != nil {
		b.err = err
		return
	}
	sched.Begin(b.opt.NowMillis)
	for _, id := range b.result.Waiting {
		sched.StartAttempt(b.st.Apps.ByID(id))
	}
	p, err := planner.New(b.st, planner.Options{})
	if err != nil {
		b.err = err
		return
	}
	p.Plan(b.opt.NowMillis, input.Request{Input: &input.Tick{Entropy: b.opt.Entropy}})
	b.apply(&event.Audited{Who: b.opt.By, From: "this machine", Action: "import", Target: "state store " + b.store.Version,
		Result: fmt.Sprintf("%s: %d running, %d waiting, %d ended applications", event.AuditDone, len(b.result.Running),
			len(b.result.Waiting), b.result.Ended)})
}

// application is an application that is taken over, with its submission.
type application struct {
	*statestore.Application
	in   *input.SubmitApplication
	leaf string
}

// choose reads the submissions and returns the applications that can be taken over.
func (b *builder) choose() []application {
	kinds := b.st.Versions.Kinds()
	taken := map[uint32]application{} // by sequence number
	var out []application
	for i := range b.store.Applications {
		a := &b.store.Applications[i]
		name := a.ID.String()
		if b.skipped(name) {
			b.result.LeftOut = append(b.result.LeftOut, statestore.Problem{Name: name, What: "the operator left it out"})
			continue
		}
		in, err := client.StoredSubmission(a.Context, a.User, kinds)
		if err == nil {
			if f := input.Check(input.Request{Input: in}); f != nil {
				err = f
			}
		}
		if err != nil {
			b.refuse(a, "end it before the Java ResourceManagers stop, or leave it out with --skip", "%v", err)
			continue
		}
		if !b.conf.LabelSettings.Enabled && strings.TrimSpace(in.Label+in.AMLabel) != "" {
			b.refuse(a, "set yarn.node-labels.enabled in yarn-site.xml, or leave it out with --skip", "it uses node labels")
			continue
		}
		leaf, err := b.leafOf(in)
		if err != nil {
			b.refuse(a,
				"add the queue to capacity-scheduler.xml, move the application before the Java ResourceManagers stop, or leave it out with --skip", "%v", err)
			continue
		}
		app := application{Application: a, in: in, leaf: leaf}
		if other, clash := taken[a.ID.Seq]; clash && !b.yields(other, app) {
			continue
		} else if clash {
			out = slices.DeleteFunc(out, func(x application) bool { return x.ID == other.ID })
		}
		taken[a.ID.Seq] = app
		out = append(out, app)
	}
	return out
}

// refuse records an application that cannot be taken over. An ended one is left out.
func (b *builder) refuse(a *statestore.Application, do, format string, args ...any) {
	if a.State.Ended() {
		b.result.LeftOut = append(b.result.LeftOut,
			statestore.Problem{Name: a.ID.String(), What: fmt.Sprintf(format, args...)})
		return
	}
	b.problem(a.ID.String(), do, format, args...)
}

// yields reports whether the earlier of two applications with the same number is replaced by the
// later. A Java ResourceManager starts with number 1 at each start. Here each number is used once.
func (b *builder) yields(earlier, later application) bool {
	loser := earlier
	switch {
	case !earlier.State.Ended() && !later.State.Ended():
		b.problem(later.ID.String(), "end one of them before the Java ResourceManagers stop, or leave one out with --skip",
			"it has the number of %s, and neither has ended", earlier.ID)
		return false
	case !earlier.State.Ended():
		loser = later
	}
	b.result.LeftOut = append(b.result.LeftOut,
		statestore.Problem{Name: loser.ID.String(), What: "it has ended, and another application has its number"})
	return loser.ID == earlier.ID
}

// leafOf returns the path of the leaf queue that a submission names.
func (b *builder) leafOf(in *input.SubmitApplication) (string, error) {
	i, err := b.conf.Lookup(in.Queue)
	if err == nil && !b.conf.Queues[i].Leaf {
		err = fmt.Errorf("%s is a parent queue", b.conf.Queues[i].Path)
	}
	if err != nil {
		return "", fmt.Errorf("its queue %s does not exist here: %w", in.Queue, err)
	}
	return b.conf.Queues[i].Path, nil
}
