package ui

import (
	"cmp"

	"rmd/transport/http/ui/plots"
)

// hourData has the plots of a replica's last hour, day or week, with links to the others.
type hourData struct {
	plots.Hour
	Span  string // hour, day or week
	Spans []choice
}

// lastHour returns the plots of a queue or a node, or of the cluster if both are empty.
func (q *query) lastHour(queue, node string) (hourData, error) {
	d := hourData{Span: cmp.Or(q.q.Get("span"), "hour")}
	h, present, err := q.u.cfg.API.Past(q.v, queue, node, d.Span)
	if err != nil {
		return d, err
	}
	for _, span := range []string{"hour", "day", "week"} {
		d.Spans = append(d.Spans, choice{Value: q.with("span", span) + "#hour", Text: span, Chosen: span == d.Span})
	}
	d.Hour = plots.OfHour(h, present, q.u.cfg.Now(), queue, node)
	return d, nil
}
