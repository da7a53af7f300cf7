package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rmd/api"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// work is a load that runs until it is ended, with a list of the acknowledged applications.
type work struct {
	c    *processes
	stop context.CancelFunc
	wg   sync.WaitGroup
	done atomic.Int64 // decisions
	kept atomic.Int64 // length of apps
	apps []yarn.ApplicationID
}

// work starts n loads, and submissions that are recorded.
func (c *processes) work(call *caller, n int) *work {
	c.t.Helper()
	t := c.t.(*testing.T)
	ctx, stop := context.WithCancel(t.Context())
	w := &work{c: c, stop: stop}
	prefix := fmt.Sprintf("load%d-", time.Now().UnixNano()) // nodes of an earlier load are not used again
	for i := range n {
		l := &load{c: newCaller(t, c.addrs()), node: call.node(fmt.Sprint(prefix, i), 8192, "/load"),
			id: call.application(fmt.Sprint("w", i), "root.batch"), seen: map[yarn.ContainerID]bool{}, done: &w.done}
		w.wg.Go(func() {
			if err := l.run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	ledger := newCaller(t, c.addrs())
	w.wg.Go(func() {
		if err := w.keep(ctx, ledger); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(w.halt) // before the processes end
	return w
}

// keep submits applications from time to time and records the acknowledged ones.
func (w *work) keep(ctx context.Context, c *caller) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(50 * time.Millisecond * time.Duration(1+len(w.apps)/50)): // ever slower, because the queue allows 1,000 applications and the test may take long
		}
		call, cancel := context.WithTimeout(context.Background(), patience)
		reply, err := c.ask(call, &input.SubmitApplication{User: "ledger", Queue: "root.adhoc", Unmanaged: true})
		cancel()
		if err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		w.apps = append(w.apps, reply.(*input.SubmitApplicationReply).ID)
		w.kept.Add(1)
	}
}

func (w *work) halt() {
	w.stop()
	w.wg.Wait()
}

// goesOn waits until new decisions are made.
func (w *work) goesOn() {
	w.c.t.Helper()
	from, kept := w.done.Load(), w.kept.Load()
	w.c.await("decisions go on", patience, func() bool { return w.done.Load() > from+8 && w.kept.Load() > kept })
}

// end stops the load and checks that every running replica has all acknowledged applications.
func (w *work) end() {
	w.c.t.Helper()
	w.halt()
	if w.done.Load() == 0 || len(w.apps) == 0 {
		w.c.t.Errorf("the load did nothing: %d decisions, %d applications", w.done.Load(), len(w.apps))
	}
	for _, p := range w.c.all {
		if p.cmd != nil && p.cmd.ProcessState == nil {
			w.c.checkApps(p, w.apps)
		}
	}
}

// checkApps checks that p has the applications.
func (c *processes) checkApps(p *process, want []yarn.ApplicationID) {
	c.t.Helper()
	have := map[string]bool{}
	for _, a := range c.apps(p) {
		have[a.ID] = true
	}
	var lost []string
	for _, id := range want {
		if !have[id.String()] {
			lost = append(lost, id.String())
		}
	}
	if len(lost) > 0 {
		c.t.Errorf("%s has lost %d of %d acknowledged applications: %s", p.id, len(lost), len(want), strings.Join(lost, " "))
	}
}

// apps lists all applications in p's state, after p has applied everything that the leader had
// committed.
func (c *processes) apps(p *process) []api.App {
	c.t.Helper()
	var doc struct {
		Apps []api.App `json:"apps"`
	}
	c.await(p.id+" lists the applications", patience,
		func() bool { return c.get(p, "/v1/apps?consistent&limit=10000", &doc) })
	return doc.Apps
}
