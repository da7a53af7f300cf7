package event

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// AskChanged replaces what an application asks under one key and resource name
// (a host, a rack, or "*"). A count of 0 for "*" drops the whole key.
type AskChanged struct {
	App   uint32
	Key   yarn.SchedulerKey
	Name  string
	Count int64
	Size  yarn.Resource
	Relax bool
}

// BlacklistChanged adds and removes hosts and racks of an application's
// blacklist.
type BlacklistChanged struct {
	App    uint32
	Add    []string
	Remove []string
}

// AskCountersUpdated sets the counters that decide about one key: the scheduling
// opportunities it missed and the re-reservations it had. One a key and batch.
type AskCountersUpdated struct {
	App            uint32
	Key            yarn.SchedulerKey
	Opportunities  uint32
	ReReservations uint32
}

func (*AskChanged) Kind() Kind         { return KindAskChanged }
func (*BlacklistChanged) Kind() Kind   { return KindBlacklistChanged }
func (*AskCountersUpdated) Kind() Kind { return KindAskCountersUpdated }

// Code implements Event.
func (e *AskChanged) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.Key(&e.Key)
	c.String(&e.Name)
	c.I64(&e.Count)
	c.Resource(&e.Size)
	c.Bool(&e.Relax)
}

// Code implements Event.
func (e *BlacklistChanged) Code(c *codec.Coder) {
	c.U32(&e.App)
	codec.List(c, &e.Add, func(c *codec.Coder, s *string) { c.String(s) })
	codec.List(c, &e.Remove, func(c *codec.Coder, s *string) { c.String(s) })
}

// Code implements Event.
func (e *AskCountersUpdated) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.Key(&e.Key)
	c.U32(&e.Opportunities)
	c.U32(&e.ReReservations)
}
