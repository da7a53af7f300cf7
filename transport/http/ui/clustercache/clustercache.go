// Package clustercache keeps what the replicas answered while there was no leader.
package clustercache

import (
	"context"
	"sync"
	"time"

	"rmd/api"
)

// fresh is the age from which the replicas' answers are requested again. patience is the most time
// that a request may take, and the age up to which old answers are shown meanwhile.
const (
	fresh    = 2 * time.Second
	patience = 10 * time.Second
)

// Cache keeps what the replicas answered while there was no leader. All viewers share one
// request at a time.
type Cache struct {
	mu     sync.Mutex
	last   *api.Cluster
	at     time.Time
	asking chan struct{} // closed when the request is done; nil if there is none
}

// Get returns the last answers, and requests new ones if they are old. If there are none that are
// recent enough, it waits for the request, but at most the given time.
func (x *Cache) Get(wait time.Duration, ask func(context.Context) (api.Cluster, error)) *api.Cluster {
	x.mu.Lock()
	have, age, asking := x.last, time.Since(x.at), x.asking
	if have != nil && age < fresh {
		x.mu.Unlock()
		return have
	}
	if asking == nil {
		asking = make(chan struct{})
		x.asking = asking
		go x.ask(asking, ask)
	}
	x.mu.Unlock()
	if have != nil && age < patience {
		return have
	}
	select {
	case <-asking:
	case <-time.After(wait):
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.last
}

func (x *Cache) ask(done chan struct{}, ask func(context.Context) (api.Cluster, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := ask(ctx)
	x.mu.Lock()
	defer x.mu.Unlock()
	if err == nil {
		x.last, x.at = &c, time.Now()
	}
	x.asking = nil
	close(done)
}
