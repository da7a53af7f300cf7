package view

import (
	"strings"

	"rmd/api"
	"rmd/fsm/state"
)

// AuditFilter selects entries of the audit. Zero values select all.
type AuditFilter struct {
	Who, Action string // parts of the texts, in any case
	SinceMillis int64
	After       uint64 // number of an entry
	Limit       int    // the newest entries to return
}

// Audit returns the newest entries that pass the filter, oldest first.
func (v *View) Audit(f AuditFilter) (d api.Audit, err error) {
	d = api.Audit{Newest: v.State.Audit.Newest(), Entries: []api.AuditEntry{}}
	for _, a := range v.State.Audit.After(f.After) {
		if f.SinceMillis <= a.AtMillis && hasFold(a.Who, f.Who) && hasFold(a.Action, f.Action) {
			d.Entries = append(d.Entries, auditDoc(a))
		}
	}
	if n := len(d.Entries); f.Limit > 0 && n > f.Limit {
		d.Entries = d.Entries[n-f.Limit:]
	}
	return d, nil
}

func auditDoc(a state.AuditEntry) api.AuditEntry {
	return api.AuditEntry{Number: a.Number, AtMillis: a.AtMillis, Who: a.Who, From: a.From, Action: a.Action,
		Target: a.Target, Result: a.Result}
}

// hasFold reports whether a text contains a part, in any case.
func hasFold(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}
