package state

import (
	"rmd/fsm/event"
	"rmd/fsm/state/part"
	"rmd/fsm/state/table"
)

var _ = applies(func(s *State, e *event.Audited) error { return s.Audit.Record(&s.Meta, e) })

var _ = stored(1, part.Derived[State]{Part: part.Rows(24, "audit",
	func(s *State) *table.Table[AuditSlot, AuditEntry] { return &s.Audit.Table }, (*AuditEntry).Code),
	Links: func(s *State) { s.Audit.LinkAll() }, Agrees: func(s *State) error { return s.Audit.CheckEntries() }})
