package work

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/urfave/cli/v2"

	"rmd/api"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/verb"
)

// ReservationVerbs returns the commands of reservations.
func ReservationVerbs() verb.Verb {
	return verb.Noun("reservation", "nodes reserved for containers that do not fit yet",
		reservationList(), reservationStatus(), reservationCancel())
}

var reservationColumns = output.List[api.Reservation]{
	Name:  func(r api.Reservation) string { return r.ID },
	Empty: "no reservations",
	Columns: []output.Column[api.Reservation]{
		{Head: "ID", Text: func(r api.Reservation) string { return r.ID }},
		verb.NodeColumn("NODE", func(r api.Reservation) string { return r.Node }),
		{Head: "APP", Text: func(r api.Reservation) string {
			return r.App
		}, Short: verb.ShortApp(func(r api.Reservation) string { return r.App })},
		{Head: "NEEDS", Text: func(r api.Reservation) string {
			return r.Size.String()
		}, Key: func(r api.Reservation) float64 {
			return float64(r.Size[api.MemoryMB])
		}, Shrink: true, End: true, Least: output.AmountLeast},
		{Head: "AGE", Text: func(r api.Reservation) string {
			return output.Millis(r.AgeMillis)
		}, Key: func(r api.Reservation) float64 { return float64(r.AgeMillis) }, Right: true},
		{Head: "BLOCKS", Text: func(r api.Reservation) string {
			return output.Number(r.Blocks)
		}, Key: func(r api.Reservation) float64 { return float64(r.Blocks) }, Right: true},
		{Head: "QUEUE", Wide: true, Text: func(r api.Reservation) string { return r.Queue }},
		{Head: "USER", Wide: true, Text: func(r api.Reservation) string { return r.User }},
		{Head: "FREE", Wide: true, Text: func(r api.Reservation) string {
			return r.Free.String()
		}, Key: func(r api.Reservation) float64 {
			return float64(r.Free[api.MemoryMB])
		}},
		{Head: "MISSING", Wide: true, Text: func(r api.Reservation) string {
			return r.Missing.String()
		}, Key: func(r api.Reservation) float64 {
			return float64(r.Missing[api.MemoryMB])
		}},
		{Head: "RE-RESERVATIONS", Wide: true, Text: func(r api.Reservation) string {
			return output.Number(r.ReReservations)
		}, Key: func(r api.Reservation) float64 { return float64(r.ReReservations) }, Right: true},
		{Head: "CONTAINER", Wide: true, Text: func(r api.Reservation) string { return r.Container }},
	},
}

func reservationList() verb.Verb {
	return verb.Verb{Name: "list", Aliases: []string{"ls"}, Usage: "list the reservations, oldest first",
		Flags: append([]cli.Flag{
			verb.Fill(verb.Nodes, &cli.StringFlag{Name: "node", Usage: "only on this node"}),
			verb.Fill(verb.Apps, &cli.StringFlag{Name: "app", Usage: "only of this application"}),
			verb.Fill(verb.Queues, &cli.StringFlag{Name: "queue", Usage: "only of this queue"}),
		}, verb.ListFlags(reservationColumns)...),
		Examples: []string{"rmd reservation list --sort -age", "rmd reservation list --queue root.train -o json"},
		Run: func(c *verb.Call) error {
			q := url.Values{}
			for _, name := range []string{"node", "app", "queue"} {
				if v := c.String(name); v != "" {
					q.Set(name, v)
				}
			}
			return verb.ShowList(c, reservationColumns, func(ctx context.Context) (verb.Fetched[api.Reservation], error) {
				return verb.Pages(ctx, c, "/v1/reservations", "reservations", q, 0,
					func(b []byte) ([]api.Reservation, string, error) {
						var d api.Reservations
						err := json.Unmarshal(b, &d)
						return d.Reservations, d.Next, err
					})
			})
		}}
}

func reservationStatus() verb.Verb {
	return verb.Verb{Name: "status", Usage: "show the details of a reservation, or the totals", Args: "[ID]", Min: 0,
		Max: 1, Flags: verb.WatchFlags(),
		Examples: []string{"rmd reservation status r41", "rmd reservation status"},
		Complete: []verb.Source{verb.ReservationIDs},
		Run: func(c *verb.Call) error {
			if c.NArg() == 0 {
				return verb.ShowFacts(c, func() string { return "" }, func(ctx context.Context) ([]byte, []output.Fact, error) {
					var d api.Reservations
					doc, err := c.Get(ctx, "/v1/reservations", nil, &d)
					return doc, reservationTotals(d), err
				})
			}
			return verb.ShowFacts(c, func() string { return c.Arg(0) },
				func(ctx context.Context) ([]byte, []output.Fact, error) {
					var r api.Reservation
					doc, err := c.Get(ctx, "/v1/reservations/"+url.PathEscape(c.Arg(0)), nil, &r)
					return doc, []output.Fact{
						{Name: "id", Value: r.ID}, {Name: "node", Value: r.Node}, {Name: "app", Value: r.App},
						{Name: "queue", Value: r.Queue}, {Name: "user", Value: r.User},
						{Name: "container", Value: r.Container}, {Name: "needs", Value: r.Size.String()},
						{Name: "node has", Value: r.NodeTotal.String()},
						{Name: "free there", Value: r.Free.String()}, {Name: "missing", Value: r.Missing.String()},
						{Name: "made", Value: output.Time(r.MadeMillis)},
						{Name: "age", Value: output.Millis(r.AgeMillis)},
						{Name: "re-reserved", Value: output.Number(r.ReReservations) + " times"},
						{Name: "blocks", Value: output.Number(r.Blocks) + " apps"},
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
	for _, cause := range verb.Sorted(d.Cancelled) {
		facts = append(facts, output.Fact{Name: "  " + cause, Value: fmt.Sprint(d.Cancelled[cause])})
	}
	return facts
}

func reservationCancel() verb.Verb {
	return verb.Verb{Name: "cancel", Usage: "cancel a reservation; the application still asks and may reserve again",
		Args: "ID", Min: 1, Max: 1, Flags: []cli.Flag{
			&cli.StringFlag{Name: "reason", Usage: "reason for the audit log"}, verb.YesFlag(),
		},
		Examples: []string{"rmd reservation cancel r41 --reason \"node goes to repair\" --yes"},
		Complete: []verb.Source{verb.ReservationIDs},
		Run: func(c *verb.Call) error {
			if len(c.Arg(0)) < 2 || c.Arg(0)[0] != 'r' {
				return clierr.Usagef("see rmd reservation list", "%q is not a reservation id such as r41", c.Arg(0))
			}
			path := "/v1/reservations/" + url.PathEscape(c.Arg(0))
			if err := c.ConfirmIf(c.Exists(path), c.Arg(0), "cancel reservation %s", c.Arg(0)); err != nil {
				return err
			}
			cl, err := c.Client()
			if err != nil {
				return err
			}
			q := url.Values{}
			if r := c.String("reason"); r != "" {
				q.Set("reason", r)
			}
			a, err := cl.Delete(c.Ctx(), path, q)
			if err != nil {
				return err
			}
			return verb.ShowDone(c, a, c.Arg(0), "cancelled %s", c.Arg(0))
		}}
}
