package logsim

import (
	"rmd/analysis/shadow"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
)

// shadow gives the shadow a new entry. With the same configuration, the shadow must make the
// decisions of the cluster and have its digest. Half of the seeds use another configuration; with
// it, the shadow must not fail. A new shadow begins when the configuration changes or a backup is
// restored.
func (c *checker) shadow(r *replica, index uint64, rec record) {
	b, err := event.Decode(rec.data)
	if err != nil || rec.skipped {
		return
	}
	configured := false
	for _, e := range b.Events {
		configured = configured || e.Kind() == event.KindQueuesConfigured
	}
	if c.beside == nil || configured || c.beside.Index()+1 != index {
		c.beside = c.newShadow(r, index)
		return
	}
	c.w.counts.Shadowed++
	if err := c.beside.Apply(index, b.Events); err != nil {
		c.fail("S7", "the shadow ends at %d: %v", index, err)
		return
	}
	if c.beside.LogDigest() != rec.digest {
		c.fail("S1", "at %d the shadow's copy of the cluster has digest %016x, not %016x", index,
			c.beside.LogDigest(), rec.digest)
	}
	if _, own := c.beside.Digests(); c.beside.Same() && own != rec.digest {
		c.fail("S1", "at %d the shadow of the same configuration has digest %016x, not %016x: %+v", index, own, rec.digest,
			c.beside.Report().Divergence)
	}
}

func (c *checker) newShadow(r *replica, index uint64) *shadow.Shadow {
	st, _, _ := r.m.Planning(0)
	if st.Versions.Current() == nil {
		return nil
	}
	o := shadow.DefaultOptions()
	o.Eager, o.BehindMillis = c.w.opt.Eager, 2000
	s, _, err := shadow.New(st, index, besideProperties(st, c.w.opt.Seed%2 == 1), o)
	if err != nil {
		c.fail("S7", "no shadow can begin at %d: %v", index, err)
	}
	return s
}

// besideProperties returns the properties in force. If other is true, it changes them so that
// nothing is reserved.
func besideProperties(st *state.State, other bool) (out []input.Property) {
	const noReservations = capacity.Prefix + "reservation.maximum-per-cluster"
	for _, p := range st.Versions.Current().Properties {
		if !other || p.Name != noReservations {
			out = append(out, input.Property{Name: p.Name, Value: p.Value})
		}
	}
	if other {
		out = append(out, input.Property{Name: noReservations, Value: "0"})
	}
	return out
}
