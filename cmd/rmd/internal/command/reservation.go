package command

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/urfave/cli/v2"

	"rmd/api"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
)

func reservationVerbs() verb {
	return noun("reservation", "nodes reserved for containers that do not fit yet",
		reservationList(), reservationStatus(), reservationCancel())
}

var reservationColumns = output.List[api.Reservation]{
	Name:  func(r api.Reservation) string { return r.ID },
	Empty: "no reservations",
	Columns: []output.Column[api.Reservation]{
		{Head: "ID", Text: func(r api.Reservation) string { return r.ID }},
		{Head: "NODE", Text: func(r api.Reservation) string { return r.Node }, Shrink: true},
		{Head: "APP", Text: func(r api.Reservation) string { return r.App }, Shrink: true},
		{Head: "NEEDS", Text: func(r api.Reservation) string { return r.Size.String() }, Key: func(r api.Reservation) float64 { return float64(r.Size[api.MemoryMB]) }, Shrink: true},
		{Head: "AGE", Text: func(r api.Reservation) string { return output.Millis(r.AgeMillis) }, Key: func(r api.Reservation) float64 { return float64(r.AgeMillis) }, Right: true},
		{Head: "BLOCKS", Text: func(r api.Reservation) string { return output.Number(r.Blocks) }, Key: func(r api.Reservation) float64 { return float64(r.Blocks) }, Right: true},
		{Head: "QUEUE", Wide: true, Text: func(r api.Reservation) string { return r.Queue }},
		{Head: "USER", Wide: true, Text: func(r api.Reservation) string { return r.User }},
		{Head: "FREE", Wide: true, Text: func(r api.Reservation) string { return r.Free.String() }, Key: func(r api.Reservation) float64 { return float64(r.Free[api.MemoryMB]) }},
		{Head: "MISSING", Wide: true, Text: func(r api.Reservation) string { return r.Missing.String() }, Key: func(r api.Reservation) float64 { return float64(r.Missing[api.MemoryMB]) }},
		{Head: "RE-RESERVATIONS", Wide: true, Text: func(r api.Reservation) string { return output.Number(r.ReReservations) }, Key: func(r api.Reservation) float64 { return float64(r.ReReservations) }, Right: true},
		{Head: "CONTAINER", Wide: true, Text: func(r api.Reservation) string { return r.Container }},
	},
}

func reservationList() verb {
	return verb{name: "list", aliases: []string{"ls"}, usage: "list the reservations, oldest first", flags: append([]cli.Flag{
		fill(nodes, &cli.StringFlag{Name: "node", Usage: "only on this node"}), fill(apps, &cli.StringFlag{Name: "app", Usage: "only of this application"}), fill(queues, &cli.StringFlag{Name: "queue", Usage: "only of this queue"}),
	}, listFlags(reservationColumns)...),
		examples: []string{"rmd reservation list --sort -age", "rmd reservation list --queue root.train -o json"},
		run: func(c *call) error {
			q := url.Values{}
			for _, name := range []string{"node", "app", "queue"} {
				if v := c.String(name); v != "" {
					q.Set(name, v)
				}
			}
			return showList(c, reservationColumns, func(ctx context.Context) (fetched[api.Reservation], error) {
				return pages(ctx, c, "/v1/reservations", "reservations", q, 0, func(b []byte) ([]api.Reservation, string, error) {
					var d api.Reservations
					err := json.Unmarshal(b, &d)
					return d.Reservations, d.Next, err
				})
			})
		}}
}

func reservationStatus() verb {
	return verb{name: "status", usage: "show the details of a reservation, or the totals", args: "[ID]", min: 0, max: 1, flags: watchFlags(),
		examples: []string{"rmd reservation status r41", "rmd reservation status"},
		complete: []source{reservationIDs},
		run: func(c *call) error {
			if c.NArg() == 0 {
				return showFacts(c, func() string { return "" }, func(ctx context.Context) ([]byte, []output.Fact, error) {
					var d api.Reservations
					doc, err := c.get(ctx, "/v1/reservations", nil, &d)
					return doc, reservationTotals(d), err
				})
			}
			return showFacts(c, func() string { return c.arg(0) }, func(ctx context.Context) ([]byte, []output.Fact, error) {
				var r api.Reservation
				doc, err := c.get(ctx, "/v1/reservations/"+url.PathEscape(c.arg(0)), nil, &r)
				return doc, []output.Fact{
					{Name: "id", Value: r.ID}, {Name: "node", Value: r.Node}, {Name: "app", Value: r.App}, {Name: "queue", Value: r.Queue}, {Name: "user", Value: r.User},
					{Name: "container", Value: r.Container}, {Name: "needs", Value: r.Size.String()}, {Name: "node has", Value: r.NodeTotal.String()},
					{Name: "free there", Value: r.Free.String()}, {Name: "missing", Value: r.Missing.String()}, {Name: "made", Value: output.Time(r.MadeMillis)},
					{Name: "age", Value: output.Millis(r.AgeMillis)}, {Name: "re-reserved", Value: output.Number(r.ReReservations) + " times"}, {Name: "blocks", Value: output.Number(r.Blocks) + " apps"},
				}, err
			})
		}}
}

func reservationTotals(d api.Reservations) []output.Fact {
	var cancelled uint64
	for _, n := range d.Cancelled { // a sum: the order does not matter
		cancelled += n
	}
	facts := []output.Fact{
		{Name: "current", Value: output.Number(len(d.Reservations))}, {Name: "made", Value: output.Number(d.Made)},
		{Name: "fulfilled", Value: output.Number(d.Fulfilled)}, {Name: "cancelled", Value: output.Number(cancelled)},
	}
	for _, cause := range sorted(d.Cancelled) {
		facts = append(facts, output.Fact{Name: "  " + cause, Value: fmt.Sprint(d.Cancelled[cause])})
	}
	return facts
}

func reservationCancel() verb {
	return verb{name: "cancel", usage: "cancel a reservation; the application still asks and may reserve again", args: "ID", min: 1, max: 1, flags: []cli.Flag{
		&cli.StringFlag{Name: "reason", Usage: "reason for the audit log"}, yesFlag(),
	},
		examples: []string{"rmd reservation cancel r41 --reason \"node goes to repair\" --yes"},
		complete: []source{reservationIDs},
		run: func(c *call) error {
			if len(c.arg(0)) < 2 || c.arg(0)[0] != 'r' {
				return clierr.Usagef("see rmd reservation list", "%q is not a reservation id such as r41", c.arg(0))
			}
			if err := c.confirm(c.arg(0), "cancel reservation %s", c.arg(0)); err != nil {
				return err
			}
			cl, err := c.client()
			if err != nil {
				return err
			}
			q := url.Values{}
			if r := c.String("reason"); r != "" {
				q.Set("reason", r)
			}
			a, err := cl.Delete(c.ctx(), "/v1/reservations/"+url.PathEscape(c.arg(0)), q)
			if err != nil {
				return err
			}
			return showDone(c, a, c.arg(0), "cancelled %s", c.arg(0))
		}}
}
