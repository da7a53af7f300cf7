package v1

import (
	"net/http"

	"rmd/api"
	"rmd/transport/http/route"
	"rmd/transport/http/view"
)

func auditRoutes() []route.Route {
	return []route.Route{route.Get("/v1/audit", "who action since after limit",
		listAudit).Doc("List operators' changes and refusals", nil, api.Audit{})}
}

// listAudit answers with the newest audit entries that pass the filters, oldest first.
func listAudit(c *route.Call) error {
	since, err := c.Number("since", 0)
	if err != nil {
		return err
	}
	after, err := c.Number("after", 0)
	if err != nil {
		return err
	}
	limit, err := c.Limit()
	if err != nil {
		return err
	}
	v, err := c.View()
	if err != nil {
		return err
	}
	d, err := v.Audit(view.AuditFilter{Who: c.Query.Get("who"), Action: c.Query.Get("action"), SinceMillis: int64(since),
		After: after, Limit: limit})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, d)
}
