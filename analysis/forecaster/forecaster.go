// Package forecaster makes the forecasts of a replica beside its log, keeps the record of how accurate
// they were, and answers questions about the starts of an application's containers. The runs
// themselves are in package forecast.
package forecaster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/analysis/forecast"
	"rmd/api"
	"rmd/cluster"
	"rmd/fsm"
	"rmd/fsm/state"
	"rmd/internal/atomicfile"
	"rmd/internal/job"
	"rmd/transport/frontend"
	"rmd/yarn"
)

// Config is what a forecaster takes from its replica.
type Config struct {
	ID      string // of the replica
	Data    string // the directory of the record; "": it is not saved
	Machine *fsm.Machine
	Log     Members
	Explain func(st *state.State, id yarn.ApplicationID) (*api.Explanation, error)
	Every   time.Duration // between two forecasts for the record; 0: a minute
	Now     func() time.Time
	Logger  hclog.Logger
	Job     *job.Job
}

// Members knows who leads the cluster. *cluster.Cluster implements it.
type Members interface {
	IsLeader() bool
	Members() []cluster.Member
}

// Forecaster forecasts when containers will start, and records how accurate the forecasts of its
// replica are. It follows the applied log. Once per Config.Every of the log's time it forecasts the
// starts of all waiting containers. Every replica has its own record, so the record needs no log
// entry and survives failovers. It is saved in the data directory and continues after a restart.
type Forecaster struct {
	Config
	conf frontend.QueueConf
	// next is the time of the next forecast, in milliseconds of the log's time; 0 if not known yet.
	next int64

	mu     sync.Mutex
	keeper *forecast.Keeper // nil before the record begins
	rest   time.Duration    // the least time between two forecasts, by what the last one took
	// last has the newest answers, for pages that ask repeatedly.
	last map[yarn.ApplicationID]kept
}

// kept is an answer and what it was about.
type kept struct {
	*api.Forecast
	about string
}

const (
	usualEvery = time.Minute
	pause      = 100 * time.Millisecond
	// After refreshTime, a refresh begins no further run. The next one is at least refreshRest times
	// as long after it as it took.
	refreshTime = time.Second
	refreshRest = 50
	// answerTime is the same for an answer with all its suppositions.
	answerTime = 100 * time.Millisecond
	recordFile = "forecasts.json"
	// answersKept is the age up to which an answer is reused, if the application still waits for the
	// same. answersMax is how many are kept.
	answersKept = 5_000 // milliseconds
	answersMax  = 100
)

// New returns a forecaster. Run makes it follow the log.
func New(c Config) *Forecaster { return &Forecaster{Config: c} }

// Run follows the log until the context ends.
func (f *Forecaster) Run(ctx context.Context) {
	defer func() {
		if p := recover(); p != nil { // a failed forecast must not stop the replica
			_ = f.Job.Done(fmt.Errorf("a fault of the program, see the log: %v", p))
			f.Logger.Error("the record of forecasts is not kept any more", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	record := f.load()
	for ctx.Err() == nil {
		err := f.follow(ctx, record)
		if ctx.Err() != nil {
			break
		}
		f.Logger.Debug("watch for the forecasts starts again", "error", err)
		f.mu.Lock()
		if f.keeper != nil {
			record, f.keeper = f.keeper.Record, nil
		}
		f.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	f.save()
}

// follow follows the log from the first batch after the cluster exists, and continues a record.
func (f *Forecaster) follow(ctx context.Context, record *forecast.Record) error {
	sub, err := f.Machine.Follow()
	if err != nil {
		return err
	}
	defer sub.Close()
	// fork is a state for the next forecast, at index. It is used when all batches up to index were
	// followed. done is not nil while the forecast runs.
	var fork *state.State
	var index uint64
	var done chan error
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		if done != nil {
			<-done
		}
	}()
	for {
		b, err := sub.Next(ctx)
		if err != nil {
			return err
		}
		if fork != nil && done == nil && b.Index > index {
			done = f.begin(ctx, fork)
		}
		fresh := f.apply(record, b)
		select {
		case err := <-done:
			if fork, done = nil, nil; err != nil {
				return err
			}
		default:
		}
		if fresh && fork == nil && f.due(b.NowMillis) && !f.elsewhere() {
			fork, index = f.Machine.Fork()
		}
	}
}

// elsewhere reports whether other replicas make the forecasts: a leader that has followers leaves
// them to these.
func (f *Forecaster) elsewhere() bool {
	return f.Log.IsLeader() && slices.ContainsFunc(f.Log.Members(), func(m cluster.Member) bool { return m.ID != f.ID })
}

// due reports, once per interval, that a forecast is due. The first interval begins with the
// replica. A restarted watch does not shorten an interval.
func (f *Forecaster) due(nowMillis int64) bool {
	f.mu.Lock()
	every := max(cmp.Or(f.Every, usualEvery), f.rest).Milliseconds()
	f.mu.Unlock()
	if f.next == 0 {
		f.next = nowMillis + every
	}
	if nowMillis < f.next {
		return false
	}
	f.next = nowMillis + every
	return true
}

// apply follows a batch once the cluster has an id. It reports whether the batch was new.
func (f *Forecaster) apply(record *forecast.Record, b *fsm.Batch) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.keeper == nil {
		st, index := f.Machine.Fork()
		if st.Meta.ClusterID == "" {
			return false
		}
		f.keeper = forecast.NewKeeper(st, index, record, forecast.RefreshOptions())
	}
	return f.keeper.Apply(b.Index, b.NowMillis, b.Changes)
}

// begin begins a forecast for all waiting asks, which runs while the log is followed. The result is
// sent when the forecast has ended.
func (f *Forecaster) begin(ctx context.Context, st *state.State) chan error {
	done := make(chan error, 1)
	if st.Versions.Current() == nil {
		done <- nil
		return done
	}
	f.mu.Lock()
	keeper := f.keeper
	asks := keeper.Begin(st)
	f.mu.Unlock()
	go func() { done <- f.refresh(ctx, keeper, st, asks) }()
	return done
}

// refresh forecasts the starts of asks and promises them. The next refresh waits
// refreshRest times as long as this one took.
func (f *Forecaster) refresh(ctx context.Context, keeper *forecast.Keeper, st *state.State,
	asks []forecast.Ask) (err error) {
	defer func() {
		if p := recover(); p != nil { // a failed forecast must not stop the replica
			err = fmt.Errorf("a fault of the program: %v", p)
			f.Logger.Error("a forecast failed", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	began, o := time.Now(), keeper.Options
	o.Stop = func() bool { return ctx.Err() != nil }
	o.Enough = func() bool { return time.Since(began) > refreshTime }
	starts, err := forecast.Run(st, st.Meta.NowMillis, asks, o)
	if err != nil || ctx.Err() != nil {
		return err
	}
	f.mu.Lock()
	keeper.Promise(st, st.Meta.NowMillis, starts)
	f.rest = refreshRest * time.Since(began)
	f.mu.Unlock()
	f.save()
	return nil
}

// path returns the file of the record, or "" without a data directory.
func (f *Forecaster) path() string {
	if f.Data == "" {
		return ""
	}
	return filepath.Join(f.Data, recordFile)
}

// load reads the record. It returns nil if there is none, or if it cannot be read: the state of the
// cluster does not depend on it.
func (f *Forecaster) load() *forecast.Record {
	if f.path() == "" {
		return nil
	}
	data, err := os.ReadFile(f.path())
	record := &forecast.Record{}
	if err == nil {
		err = json.Unmarshal(data, record)
	}
	if err == nil {
		return record
	}
	if !errors.Is(err, fs.ErrNotExist) {
		f.Logger.Warn("the record of forecasts cannot be read; a new one begins", "file", f.path(), "error", err)
	}
	return nil
}

// save replaces the file of the record.
func (f *Forecaster) save() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.keeper == nil || f.path() == "" {
		return
	}
	data, err := json.Marshal(f.keeper.Record)
	if err == nil {
		err = atomicfile.Write(f.path(), data)
	}
	if err = f.Job.Done(err); err != nil {
		f.Logger.Warn("the record of forecasts is not saved", "error", err)
	}
}

// Of returns the forecast for an application, or a recent one.
func (f *Forecaster) Of(ctx context.Context, st *state.State, id yarn.ApplicationID) (*api.Forecast, error) {
	if st.Versions.Current() == nil {
		return &api.Forecast{ID: id.String(), Asks: []api.ForecastAsk{}}, nil
	}
	now := max(f.Now().UnixMilli(), st.Meta.NowMillis)
	why, err := f.Explain(st, id)
	if err != nil {
		return nil, err
	}
	about := aboutWhat(why)
	if d := f.answered(now, id, about); d != nil {
		return d, nil
	}
	x := f.question(st, now)
	x.explain = func(*state.State, yarn.ApplicationID) (*api.Explanation, error) { return why, nil }
	d, err := x.of(ctx, id)
	if err == nil {
		f.keep(id, kept{d, about})
	}
	return d, err
}

// aboutWhat says what an application waits for and why, without the numbers that change with every
// heartbeat. A forecast that is about something else would contradict the explanation beside it.
func aboutWhat(x *api.Explanation) string {
	about := x.State + x.Queue + x.Reason
	for _, k := range x.Asks {
		about += fmt.Sprint(k.Priority, k.AllocationID, k.Count, k.Size, k.Where, k.Reason, k.Never)
	}
	return about
}

func (f *Forecaster) question(st *state.State, now int64) *question {
	x := &question{st: st, now: now, options: forecast.DefaultOptions(), interval: f.interval, recorded: f.enough()}
	if conf := f.conf.Of(st); conf != nil {
		x.maxPriority = conf.MaxPriority
	}
	began := time.Now()
	x.options.Enough = func() bool { return time.Since(began) > answerTime }
	return x
}

// answered returns the last answer for an application if it is recent and about the same, otherwise
// nil.
func (f *Forecaster) answered(now int64, id yarn.ApplicationID, about string) *api.Forecast {
	f.mu.Lock()
	defer f.mu.Unlock()
	if k, ok := f.last[id]; ok && k.about == about && now-k.AtMillis < answersKept {
		return k.Forecast
	}
	return nil
}

func (f *Forecaster) keep(id yarn.ApplicationID, d kept) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == nil || len(f.last) >= answersMax {
		f.last = map[yarn.ApplicationID]kept{}
	}
	f.last[id] = d
}

func (f *Forecaster) enough() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.keeper != nil && f.keeper.Record.Enough()
}

func (f *Forecaster) interval(now, delay int64) (from, median, to int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.keeper == nil {
		return delay, delay, delay
	}
	return f.keeper.Record.Interval(now, delay)
}

// Report returns how accurate the forecasts of this replica were.
func (f *Forecaster) Report() *api.ForecastReport {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := &api.ForecastReport{Replica: f.ID}
	if f.keeper == nil {
		return d
	}
	r := f.keeper.Record
	d.SinceMillis, d.Due, d.Held, d.Gone, d.None, d.Open, d.Recorded = r.SinceMillis, r.Due, r.Held, r.Gone, r.None,
		r.Waiting(), r.Enough()
	s := r.Summary()
	d.Newest = api.ForecastSummary{Due: s.Outcomes, Held: s.Held, ErrorP50Millis: s.ErrorP50, ErrorP95Millis: s.ErrorP95,
		WaitP50Millis: s.Wait, WidthP50Millis: s.Width, WidthOfWaitP50: s.WidthOfWait}
	return d
}
