package launcher

import (
	"context"
	"fmt"
	"sync"
	"time"

	"rmd/fsm/state"
	"rmd/internal/leadership"
	"rmd/yarn"
)

// Launcher starts AMs while this replica leads.
type Launcher struct {
	cfg   Config
	slots chan struct{}

	mu    sync.Mutex
	dials map[key]*dial // launches in progress
	wg    sync.WaitGroup
}

// key identifies an AM container.
type key struct {
	attempt yarn.AttemptID
	number  uint64
}

// New returns a Launcher. It does nothing until it leads.
func New(cfg Config) (*Launcher, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("launcher: %w", err)
	}
	return &Launcher{cfg: cfg, slots: make(chan struct{}, cfg.ParallelMax), dials: make(map[key]*dial)}, nil
}

// Run calls Lead in every term in which this replica leads, until ctx ends or changes is closed.
func (l *Launcher) Run(ctx context.Context, changes <-chan leadership.Leadership) error {
	var now leadership.Leadership
	stop := func() {}
	defer func() { stop() }()
	for {
		select {
		case c, ok := <-changes:
			if !ok {
				return nil
			}
			if c == now {
				continue
			}
			stop()
			now, stop = c, func() {}
			if c.IsLeader {
				stop = l.start(ctx)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *Launcher) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.Lead(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// Lead starts AMs until ctx ends, which must be when the leadership ends. When it returns, all its
// goroutines have ended. It must not be called concurrently.
func (l *Launcher) Lead(ctx context.Context) {
	defer l.wg.Wait()
	for ctx.Err() == nil {
		if err := l.follow(ctx); ctx.Err() == nil {
			_ = l.cfg.Job.Done(err)
			l.cfg.Logger.Debug("watch of AM containers starts again", "error", err)
			wait(ctx, l.cfg.Pause)
		}
	}
}

// follow looks at the state now and whenever it may have changed. It creates the watch before the
// first look, so that it misses no change. It returns the reason why it cannot continue.
func (l *Launcher) follow(ctx context.Context) error {
	if err := l.cfg.Reader.Current(ctx); err != nil {
		return fmt.Errorf("catch up: %w", err)
	}
	w, err := l.cfg.Reader.Watch()
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	defer w.Close()
	_ = l.cfg.Job.Done(nil)
	for {
		l.look(ctx, l.cfg.Reader.Fork())
		if err := w.Next(ctx); err != nil {
			return err
		}
	}
}

// look starts the launches that are needed and cancels those that are not. It visits the nodes with
// pending commands.
func (l *Launcher) look(ctx context.Context, st *state.State) {
	st.Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool {
		if !n.NodeManager || n.PendingCommands == 0 {
			return true
		}
		for _, c := range st.Containers.On(n) {
			if needsLaunch(st, c) {
				l.dial(ctx, key{st.Apps.Get(c.App).AttemptID(), c.Number})
			}
		}
		return true
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, d := range l.dials {
		if launchEnded(st, k) {
			d.cancel()
		}
	}
}

// needsLaunch reports whether a container is an AM's container whose attempt waits for it.
func needsLaunch(st *state.State, c *state.Container) bool {
	if !c.AM || c.Launched || !c.State.Live() {
		return false
	}
	a := st.Apps.Get(c.App)
	return a.Attempt == c.Attempt && a.AttemptState == state.AttemptActive && a.LaunchedMillis == 0
}

// launchEnded reports whether an attempt or its AM's container has ended. If the node has reported
// the container meanwhile, the launch is not over; the call in progress returns the result.
func launchEnded(st *state.State, k key) bool {
	a, c := find(st, k)
	return c == nil || !a.Activated() || !c.State.Live()
}

// find returns the application and the AM container of a key. The container is nil if it has ended
// or does not belong to the current attempt.
func find(st *state.State, k key) (*state.App, *state.Container) {
	slot := st.Apps.ByID(k.attempt.App)
	if slot == 0 {
		return nil, nil
	}
	a := st.Apps.Get(slot)
	if a.Attempt != k.attempt.Attempt || a.MasterNumber != k.number {
		return a, nil
	}
	if c := st.Master(a); c != 0 {
		return a, st.Containers.Get(c)
	}
	return a, nil
}

// dial starts a launch, unless it is in progress.
func (l *Launcher) dial(ctx context.Context, k key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dials[k] != nil {
		return
	}
	d := &dial{l: l, key: k, began: time.Now()}
	d.ctx, d.cancel = context.WithCancel(ctx)
	l.dials[k] = d
	l.wg.Add(1)
	go func() {
		defer l.wg.Done()
		o := d.run()
		d.cancel()
		l.mu.Lock()
		delete(l.dials, k)
		l.mu.Unlock()
		if l.cfg.Observe != nil {
			l.cfg.Observe(o, time.Since(d.began))
		}
	}()
}

// wait waits for d or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
