package v1

import (
	"net/http"

	"rmd/api"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/transport/http/auth"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
)

// Shadows runs another queue configuration beside the cluster on this replica.
type Shadows interface {
	// Start starts a shadow. It returns an *input.Refusal if the configuration would be refused.
	Start(properties []input.Property, in api.StartShadow) (*api.Shadow, error)
	Show() *api.Shadow
	// Stop ends the shadow and returns its last report.
	Stop() (*api.Shadow, error)
}

// maxBehindMillis is the largest delay of a shadow behind the log, in milliseconds.
const maxBehindMillis = 24 * 3600 * 1000

// shadows serves the shadow of this replica.
type shadows struct{ *shared }

func (s *shadows) routes() []route.Route {
	return []route.Route{
		route.Get("/v1/shadow", "", s.shadow).Doc(
			"Compare the cluster with the other queue configuration that runs beside it on this replica", nil, api.Shadow{}),
		route.Post("/v1/shadow", "", s.startShadow).As("shadow start").Doc(
			"Run another queue configuration beside the cluster on this replica; it allocates nothing",
			route.Takes{api.StartShadow{}, route.Media("application/xml")}, api.Shadow{}),
		route.Delete("/v1/shadow", "", s.stopShadow).As("shadow stop").Doc(
			"End the other queue configuration; the answer is its last report",
			nil, api.Shadow{}),
	}
}

// Shadow returns the report of the shadow on this replica, or nil if the replica runs no shadows.
func (s *shadows) Shadow() *api.Shadow {
	if s.cfg.Shadows == nil {
		return nil
	}
	return s.cfg.Shadows.Show()
}

func (s *shadows) shadow(c *route.Call) error {
	if s.cfg.Shadows == nil {
		return problem.NotAvailable("shadows")
	}
	return c.JSON(http.StatusOK, s.cfg.Shadows.Show())
}

func (s *shadows) startShadow(c *route.Call) error {
	if s.cfg.Shadows == nil {
		return problem.NotAvailable("shadows")
	}
	in, props, err := s.shadowProperties(c)
	if err != nil {
		return err
	}
	if in.BehindMillis != nil && (*in.BehindMillis < 0 || *in.BehindMillis > maxBehindMillis) {
		return problem.Invalid("behind_ms is not 0 to 86400000", "give the milliseconds of at most a day", "behind_ms")
	}
	in.Name = auth.Clip(in.Name)
	d, err := s.cfg.Shadows.Start(props, in)
	c.AuditRead(in.Name, err)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, d)
}

// shadowProperties reads the request. The configuration in it has the formats of PUT /v1/conf.
func (s *shadows) shadowProperties(c *route.Call) (in api.StartShadow, out []input.Property, err error) {
	b, err := c.Raw()
	if err != nil {
		return in, nil, err
	}
	var props []capacity.Property
	switch c.Media() {
	case "application/xml", "text/xml":
		props, err = xmlProperties(b)
	default:
		if err = c.Read(&in); err == nil {
			props, err = s.unmasked(c, in.Properties)
		}
	}
	for _, p := range props {
		out = append(out, input.Property(p))
	}
	return in, out, err
}

func (s *shadows) stopShadow(c *route.Call) error {
	if s.cfg.Shadows == nil {
		return problem.NotAvailable("shadows")
	}
	d, err := s.cfg.Shadows.Stop()
	c.AuditRead("", err)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, d)
}
