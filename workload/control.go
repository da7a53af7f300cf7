package workload

import (
	"rmd/workload/trace"
	"rmd/yarn"
)

// Control changes a workload while Run runs it. Its methods may be called from any goroutine. They
// have no effect after Run has ended.
type Control struct {
	orders chan func(*world)
}

// controlRoom is how many orders may wait. More are dropped: people press keys, programs do not.
const controlRoom = 64

// NewControl returns a Control for Config.Control of one Run.
func NewControl() *Control { return &Control{orders: make(chan func(*world), controlRoom)} }

func (c *Control) order(do func(*world)) {
	select {
	case c.orders <- do:
	default:
	}
}

// Submit submits a job now, whatever its time of submission.
func (c *Control) Submit(job trace.Job) {
	c.order(func(w *world) { w.enter(newApp(w, job)) })
}

// StopNode takes the power from a node: its containers are gone, and it sends nothing any more.
func (c *Control) StopNode(name string) {
	c.order(func(w *world) {
		if n := w.named(name); n != nil && !n.down {
			n.stop()
		}
	})
}

// StartNode starts a stopped node again, without containers.
func (c *Control) StartNode(name string) {
	c.order(func(w *world) {
		if n := w.named(name); n != nil {
			n.start()
		}
	})
}

func (w *world) named(name string) *node { return w.byID[yarn.NodeID{Host: name, Port: w.cfg.Port}] }

// ordered returns the channel of orders, or nil if there is no Control.
func (c *Control) ordered() <-chan func(*world) {
	if c == nil {
		return nil
	}
	return c.orders
}
