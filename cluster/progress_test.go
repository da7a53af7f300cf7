package cluster

import (
	"bytes"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// newerEntry is an entry that older programs refuse.
var newerEntry = []byte("an event of a newer program")

// refusers makes the replicas whose ids are stored in it refuse newerEntry.
type refusers struct{ ids atomic.Pointer[[]string] }

func (o *refusers) set(rs ...*replica) {
	var ids []string
	for _, r := range rs {
		ids = append(ids, r.id)
	}
	o.ids.Store(&ids)
}

func (o *refusers) tweak(c *Config) {
	id := c.ID
	c.VerifyEntry = func(b []byte) error {
		if ids := o.ids.Load(); ids != nil && bytes.Equal(b, newerEntry) {
			for _, older := range *ids {
				if older == id {
					return errors.New("event 999 is not known here")
				}
			}
		}
		return nil
	}
}

// TestProgressNamesRefusals checks that a leader whose entry every follower refuses knows that it
// commits nothing, since when, and who refuses it with which error.
func TestProgressNamesRefusals(t *testing.T) {
	t.Parallel()
	var older refusers
	rs := trio(t, older.tweak)
	inStep(t, rs, put(t, rs, 3))
	l := leader(t, rs)
	if p := l.c.Progress(); !p.Leads || p.Commit == 0 || p.Commit != p.Last || p.Refusals != nil {
		t.Errorf("before: %+v", p)
	}
	older.set(without(rs, l)...)
	go func() { _, _, _ = l.c.Propose(newerEntry).Wait() }()
	var p Progress
	eventually(t, patience, "both followers refuse it", func() bool {
		p = l.c.Progress()
		return len(p.Refusals) == 2 && p.Stalled > time.Second
	})
	for i, f := range without(rs, l) {
		if r := p.Refusals[i]; r.ID != f.id || !strings.Contains(r.Why, "event 999") ||
			!strings.Contains(p.Why, f.id+" refuses: "+r.Why) {
			t.Errorf("%s: %+v, %q", f.id, r, p.Why)
		}
	}
	older.set()
	eventually(t, patience, "the stall ends", func() bool {
		p := l.c.Progress()
		return p.Stalled == 0 && p.Why == "" && p.Refusals == nil && p.Commit == p.Last
	})
}
