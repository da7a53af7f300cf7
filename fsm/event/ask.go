package event

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// AskChanged replaces an application's ask under one key for one resource name (a host, a rack, or
// "*"). A count of 0 for "*" drops all asks under the key.
type AskChanged struct {
	App   uint32
	Key   yarn.SchedulerKey
	Name  string
	Count int64
	Size  yarn.Resource
	Relax bool
}

var KindAskChanged = frequent[AskChanged](60)

func (*AskChanged) Kind() Kind { return KindAskChanged }

func (e *AskChanged) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.Key(&e.Key)
	c.String(&e.Name)
	c.I64(&e.Count)
	c.Resource(&e.Size)
	c.Bool(&e.Relax)
}

// BlacklistChanged adds hosts and racks to an application's blacklist and removes others from it.
type BlacklistChanged struct {
	App    uint32
	Add    []string
	Remove []string
}

var KindBlacklistChanged = define[BlacklistChanged](61)

func (*BlacklistChanged) Kind() Kind { return KindBlacklistChanged }

func (e *BlacklistChanged) Code(c *codec.Coder) {
	c.U32(&e.App)
	codec.List(c, &e.Add, func(c *codec.Coder, s *string) { c.String(s) })
	codec.List(c, &e.Remove, func(c *codec.Coder, s *string) { c.String(s) })
}

// AskCountersUpdated sets the counters of one key: missed scheduling opportunities and
// re-reservations. A batch has at most one such event per key.
type AskCountersUpdated struct {
	App            uint32
	Key            yarn.SchedulerKey
	Opportunities  uint32
	ReReservations uint32
}

var KindAskCountersUpdated = frequent[AskCountersUpdated](62, Counter)

func (*AskCountersUpdated) Kind() Kind { return KindAskCountersUpdated }

func (e *AskCountersUpdated) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.Key(&e.Key)
	c.U32(&e.Opportunities)
	c.U32(&e.ReReservations)
}
