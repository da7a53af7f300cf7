package ui

import (
	"net/url"
	"strconv"
	"strings"

	"rmd/fsm/event"
	"rmd/transport/http/v1/api"
)

// auditShown is how many entries the page has.
const auditShown = 200

type auditData struct {
	Who, Action string
	Filter      bool
	Below       bool       // the feature level from which the audit is kept
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
	if d.Below = q.v.State().Meta.Level < event.LevelAudit; d.Below {
		return d, nil
	}
	ask := url.Values{"who": {d.Who}, "action": {d.Action}, "limit": {strconv.Itoa(auditShown + 1)}}
	var got api.Audit
	if err := q.get("/v1/audit?"+ask.Encode(), &got); err != nil {
		return nil, err
	}
	d.More = len(got.Entries) > auditShown
	for i := len(got.Entries) - 1; i >= 0 && len(d.Entries) < auditShown; i-- {
		e := got.Entries[i]
		d.Entries = append(d.Entries, auditRow{e, strings.HasPrefix(e.Result, "done") || e.Result == "ok"})
	}
	return d, nil
}
