// Package download writes the rows of the pages' tables as CSV, for spreadsheets.
//
// A row names its columns itself, and the first row of a table, which is not written, gives its head.
// Times are in UTC, because a file has no reader's clock.
package download

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"rmd/api"
	"rmd/transport/http/ui/eventlog"
	"rmd/transport/http/ui/format"
	"rmd/transport/http/view"
)

// Row is a row with the names of its columns.
type Row struct{ names, values []string }

// Write answers with a file of n rows. If the client goes away, it stops.
func Write(w http.ResponseWriter, name string, head Row, n int, row func(i int) Row) {
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`.csv"`)
	out := csv.NewWriter(w)
	_ = out.Write(head.names) // the writer keeps its error
	for i := range n {
		if out.Write(row(i).values) != nil {
			return
		}
	}
	out.Flush()
}

func (r *Row) put(name, value string) {
	r.names, r.values = append(r.names, name), append(r.values, value)
}

// text adds a text. A spreadsheet would compute one that begins like a formula, and users choose the
// names of their applications.
func (r *Row) text(name, value string) {
	if value != "" && strings.ContainsRune("=+-@\t\r", rune(value[0])) {
		value = "'" + value
	}
	r.put(name, value)
}

func (r *Row) number(name string, value any) { r.put(name, fmt.Sprint(value)) }

func (r *Row) percent(name string, value float64) {
	r.put(name+" %", strconv.FormatFloat(value, 'f', 1, 64))
}

// time adds a time in Unix milliseconds; 0 is none.
func (r *Row) time(name string, millis int64) {
	text := ""
	if millis != 0 {
		text = time.UnixMilli(millis).UTC().Format(time.DateTime)
	}
	r.put(name+" UTC", text)
}

func (r *Row) seconds(name string, millis int64) {
	r.put(name+" s", strconv.FormatFloat(float64(millis)/1000, 'f', 3, 64))
}

// amounts adds a column for each kind.
func (r *Row) amounts(name string, kinds []string, of api.Resource) {
	for _, kind := range kinds {
		unit := format.KindName(kind)
		if kind == api.MemoryMB {
			unit += " MiB"
		}
		r.number(name+" "+unit, of[kind])
	}
}

// App returns the row of an application, as it was at a time.
func App(a *api.App, why view.Reason, share float64, kinds []string, now int64) (r Row) {
	r.text("application", a.ID)
	r.text("name", a.Name)
	r.text("user", a.User)
	r.text("queue", a.Queue)
	r.text("state", a.State)
	r.text("final status", a.FinalStatus)
	r.text("why it waits", why.Text)
	r.text("reason", why.Code)
	r.seconds("waits", a.WaitingMillis)
	r.amounts("uses", kinds, a.Used)
	r.amounts("wants", kinds, a.Pending)
	r.amounts("reserved", kinds, a.Reserved)
	r.percent("share of cluster", share)
	r.number("containers", a.Containers)
	r.number("priority", a.Priority)
	r.text("type", a.Type)
	r.text("tags", strings.Join(a.Tags, " "))
	r.text("label", a.Label)
	r.time("submitted", a.SubmittedMillis)
	r.time("started", a.StartedMillis)
	r.time("ended", a.EndedMillis)
	r.seconds("waited for AM", a.WaitMillis)
	ran := int64(0)
	if a.StartedMillis != 0 {
		if a.EndedMillis != 0 {
			now = a.EndedMillis
		}
		ran = max(now-a.StartedMillis, 0)
	}
	r.seconds("ran", ran)
	r.number("failures", a.Failures)
	r.text("tracking", a.TrackingURL)
	r.text("diagnostics", a.Diagnostics)
	return r
}

// Queue returns the row of a queue with its running applications and those that wait for their AM.
func Queue(q *api.Queue, running, waiting int, kinds []string) (r Row) {
	r.text("queue", q.Path)
	r.text("state", q.State)
	r.number("leaf", q.Leaf)
	r.percent("guaranteed", q.AbsCapacity)
	r.percent("maximum", q.AbsMax)
	r.percent("used of guarantee", q.UsedPercent)
	r.amounts("used and reserved", kinds, q.Used)
	r.amounts("reserved", kinds, q.Reserved)
	r.amounts("pending", kinds, q.Pending)
	r.amounts("guaranteed", kinds, q.Guaranteed)
	r.amounts("maximum", kinds, q.Max)
	r.amounts("for AMs", kinds, q.AMUsed)
	r.number("running", running)
	r.number("waiting", waiting)
	r.number("containers", q.Containers)
	r.number("active users", q.ActiveUsers)
	return r
}

// Node returns the row of a node.
func Node(n *api.Node, kinds []string) (r Row) {
	r.text("node", n.ID)
	r.text("state", n.State)
	r.text("rack", n.Rack)
	r.text("label", n.Label)
	r.text("reservation", n.Reservation)
	r.number("containers", n.Containers)
	r.amounts("uses", kinds, n.Used)
	r.amounts("free", kinds, n.Free)
	r.amounts("total", kinds, n.Total)
	r.text("version", n.Version)
	r.time("registered", n.RegisteredMillis)
	r.time("silent since", n.SilentSinceMillis)
	r.time("last heard", n.LastHeardMillis)
	r.text("report", n.Report)
	return r
}

// Decision returns the row of an event.
func Decision(d *eventlog.Decision) (r Row) {
	r.number("index", d.Index)
	r.time("time", d.AtMillis)
	r.text("event", d.Kind)
	r.text("what", d.Text)
	r.text("application", d.App)
	r.text("queue", d.Queue)
	r.text("node", d.Node)
	r.text("container", d.Container)
	r.text("reservation", d.Reservation)
	return r
}
