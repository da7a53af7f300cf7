package ui

import "rmd/api"

type forecastsData struct {
	Index    uint64
	Report   *api.ForecastReport
	NoReport *api.Error
}

// forecastsPage shows how accurate the forecasts of starts were.
func forecastsPage(q *query) (any, error) {
	d := forecastsData{Index: q.v.Index}
	var err error
	if d.Report, err = q.u.cfg.API.ForecastReport(); err != nil {
		d.NoReport = q.u.cfg.Problems.Of(err, false)
	}
	return d, nil
}

// HeldPart returns the part of the newest intervals, 0 to 1, in which the start was.
func (d forecastsData) HeldPart() float64 {
	return float64(d.Report.Newest.Held) / float64(max(d.Report.Newest.Due, 1))
}
