package state

import (
	"rmd/fsm/event"
	"rmd/fsm/state/table"
)

var _ = applies(func(s *State, e *event.Audited) error { return s.Audit.Record(&s.Meta, e) })

var auditPart = derived{part: rows(24, "audit", func(s *State) *table.Table[AuditSlot, AuditEntry] { return &s.Audit.Table }, (*AuditEntry).Code),
	links: func(s *State) { s.Audit.LinkAll() }, agrees: func(s *State) error { return s.Audit.CheckEntries() }}
