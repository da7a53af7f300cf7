package state

import (
	"rmd/fsm/event"
	"rmd/fsm/state/part"
	"rmd/fsm/state/table"
)

var _ = stored(1, part.Keyed(15, "requests",
	func(s *State) *table.Keyed[RequestSlot, Request, *Request] { return &s.Requests.Keyed }, (*Request).Code))
var _ = applies(func(s *State, e *event.RequestRecorded) error { return s.Requests.Recorded(&s.Meta, e) })
var _ = applies(func(s *State, e *event.RequestsForgotten) error { return s.Requests.Forgotten(&s.Meta, e) })
