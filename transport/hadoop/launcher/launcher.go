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
	dials map[key]*dial // those that go on
	wg    sync.WaitGroup
}

// key names an AM container.
type key struct {
	attempt yarn.AttemptID
	number  uint64
}

// New returns a launcher; it does nothing until it leads.
func New(cfg Config) (*Launcher, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("launcher: %w", err)
	}
	return &Launcher{cfg: cfg, slots: make(chan struct{}, cfg.ParallelMax), dials: make(map[key]*dial)}, nil
}

// Run leads in every term in which this replica does, until ctx ends or changes
// is closed.
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

// Lead starts AMs until ctx, the time in which this replica leads, ends. When it
// returns nothing of it goes on. It is called once at a time.
func (l *Launcher) Lead(ctx context.Context) {
	defer l.wg.Wait()
	for ctx.Err() == nil {
		if err := l.follow(ctx); ctx.Err() == nil {
			l.cfg.Logger.Debug("watch of AM containers starts again", "error", err)
			wait(ctx, l.cfg.Pause)
		}
	}
}

// follow looks at the state, and again whenever it may have changed. The watch
// is made before the first look, so that nothing falls between the two. It
// returns why it cannot go on.
func (l *Launcher) follow(ctx context.Context) error {
	if err := l.cfg.Reader.Current(ctx); err != nil {
		return fmt.Errorf("catch up: %w", err)
	}
	w, err := l.cfg.Reader.Watch()
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	for {
		l.look(ctx, l.cfg.Reader.Fork())
		if err := w.Next(ctx); err != nil {
			return err
		}
	}
}

// look starts what is to be started, and cancels what has ended. The walk is
// over the nodes, which count what is still open on them.
func (l *Launcher) look(ctx context.Context, st *state.State) {
	st.Nodes.Each(func(_ uint32, n *state.Node) bool {
		if !n.NodeManager || n.PendingCommands == 0 {
			return true
		}
		for _, c := range st.ContainersOn(n) {
			if waits(st, c) {
				l.dial(ctx, key{st.Apps.Get(c.App).AttemptID(), c.Number})
			}
		}
		return true
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, d := range l.dials {
		if over(st, k) {
			d.cancel()
		}
	}
}

// waits says whether a container is an AM's that its attempt waits for.
func waits(st *state.State, c *state.Container) bool {
	if !c.AM || c.Launched || !c.State.Live() {
		return false
	}
	a := st.Apps.Get(c.App)
	return a.Attempt == c.Attempt && a.AttemptState == state.AttemptActive && a.LaunchedMillis == 0
}

// over says whether an attempt has ended, or its AM's container: there is
// nothing to start any more. One that its node has reported meanwhile is not
// over: the call in flight will tell.
func over(st *state.State, k key) bool {
	a, c := find(st, k)
	return c == nil || !a.Activated() || !c.State.Live()
}

// find is the application and the AM container that a key names; nil when that
// is not its current attempt's, or is gone.
func find(st *state.State, k key) (*state.App, *state.Container) {
	slot := st.AppByID(k.attempt.App)
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

// dial begins to start an AM, unless that goes on already.
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

// wait waits, or returns early when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
