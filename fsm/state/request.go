package state

import "rmd/fsm/event"

var _ = applies(func(s *State, e *event.RequestRecorded) error { return s.Requests.Recorded(&s.Meta, e) })

var _ = applies(func(s *State, e *event.RequestsForgotten) error { return s.Requests.Forgotten(&s.Meta, e) })
