package ui

import (
	"strings"

	"rmd/api"
	"rmd/transport/http/view"
)

// auditShown is the number of entries on the page.
const auditShown = 200

type auditData struct {
	Who, Action string
	Filter      bool
	Entries     []auditRow // newest first
	More        bool
}

type auditRow struct {
	api.AuditEntry
	Done bool
}

func auditPage(q *query) (any, error) {
	d := auditData{Who: strings.TrimSpace(q.q.Get("who")), Action: strings.TrimSpace(q.q.Get("action"))}
	d.Filter = d.Who != "" || d.Action != ""
	got, err := q.v.Audit(view.AuditFilter{Who: d.Who, Action: d.Action, Limit: auditShown + 1})
	if err != nil {
		return nil, err
	}
	d.More = len(got.Entries) > auditShown
	for i := len(got.Entries) - 1; i >= 0 && len(d.Entries) < auditShown; i-- {
		e := got.Entries[i]
		d.Entries = append(d.Entries, auditRow{e, strings.HasPrefix(e.Result, "done") || e.Result == "ok"})
	}
	return d, nil
}
