package httpserver

import (
	"net/http"
	"strings"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/transport/http/v1/api"
)

func (s *Server) auditRoutes() []route {
	return []route{get("/v1/audit", "who action since after limit", listAudit)}
}

// listAudit answers with the newest entries that pass the filters, oldest first.
func listAudit(c *call) error {
	since, err := c.number("since", 0)
	if err != nil {
		return err
	}
	after, err := c.number("after", 0)
	if err != nil {
		return err
	}
	limit, err := c.limit()
	if err != nil {
		return err
	}
	v, err := c.view()
	if err != nil {
		return err
	}
	if v.st.Meta.Level < event.LevelAudit {
		return problem(api.CodeNotAvailable, "the state keeps the audit from feature level 3 on", "run \"rmd upgrade finalize\"; until then \"rmd events --kind Audited\" shows it")
	}
	d := api.Audit{Newest: v.st.AuditNewest(), Entries: []api.AuditEntry{}}
	for _, a := range v.st.AuditEntries(after) {
		if int64(since) <= a.AtMillis && hasFold(a.Who, c.q.Get("who")) && hasFold(a.Action, c.q.Get("action")) {
			d.Entries = append(d.Entries, auditDoc(a))
		}
	}
	if n := len(d.Entries); limit > 0 && n > limit {
		d.Entries = d.Entries[n-limit:]
	}
	return c.json(http.StatusOK, d)
}

func auditDoc(a state.AuditEntry) api.AuditEntry {
	return api.AuditEntry{Number: a.Number, AtMillis: a.AtMillis, Who: a.Who, From: a.From, Action: a.Action, Target: a.Target, Result: a.Result}
}

// hasFold says whether a text has a part, whatever their case.
func hasFold(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}
