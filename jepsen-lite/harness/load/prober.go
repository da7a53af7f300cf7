package load

import (
	"context"
	"fmt"
	"sync"
	"time"

	"rmd/scheduler/input"
	"rmd/workload/submit"
	"rmd/yarn"
)

// Prober writes all the time. The longest time between two acknowledgements is how long the cluster
// served nobody.
type Prober struct {
	l      *Load
	client *submit.Client
	id     yarn.ApplicationID

	acks answers

	mu    sync.Mutex
	value int32
}

// probeEvery is the pause between two writes of one writer.
const probeEvery = 5 * time.Millisecond

func (l *Load) newProber(ctx context.Context) (*Prober, error) {
	cfg := submit.DefaultConfig()
	cfg.Addrs, cfg.TLS, cfg.Timeout, cfg.Connections, cfg.Pause = l.cfg.URLs, l.cfg.TLS, 2*time.Second, len(l.cfg.URLs),
		10*time.Millisecond
	d, err := submit.Open(cfg)
	if err != nil {
		return nil, err
	}
	p := &Prober{l: l, client: d}
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Patience)
	defer cancel()
	reply, err := d.Do(ctx, &input.SubmitApplication{Name: "prober", User: "prober", Queue: "root.online",
		Unmanaged: true})
	if err == nil && reply.Refused() != nil {
		err = reply.Refused()
	}
	if err != nil {
		return nil, fmt.Errorf("submit the prober's application: %w", err)
	}
	p.id = reply.(*input.SubmitApplicationReply).ID
	return p, nil
}

// probeWriters is the number of writes in progress at a time. Each uses a free connection. A call
// that waits for a stopped replica delays only itself, so the other writers continue.
const probeWriters = 3

func (p *Prober) run() {
	defer p.client.Close()
	var wg sync.WaitGroup
	for range probeWriters {
		wg.Go(p.write)
	}
	wg.Wait()
}

func (p *Prober) write() {
	for sleep(p.l.ctx, probeEvery) {
		p.mu.Lock()
		p.value++
		value := p.value%10 + 1
		p.mu.Unlock()
		ctx, cancel := context.WithTimeout(p.l.ctx, p.l.cfg.Patience)
		reply, err := p.client.Do(ctx, &input.SetPriority{ID: p.id, Priority: value})
		cancel()
		if err != nil || reply.Refused() != nil {
			continue
		}
		p.acks.add()
	}
}

// Gap returns the longest time without an acknowledged write that overlaps the time between from
// and to. A gap that has not ended lasts until now.
func (p *Prober) Gap(from, to time.Time) time.Duration { return p.acks.gap(from, to) }

// Next returns the time of the first acknowledged write after from, or zero if there was none.
func (p *Prober) Next(from time.Time) time.Time { return p.acks.next(from) }
