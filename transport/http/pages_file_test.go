package httpserver

import (
	"encoding/csv"
	"net/http"
	"slices"
	"strings"
	"testing"

	"rmd/fsm/event"
)

// TestTablesAsFiles checks that the tables for spreadsheets have the rows of their pages, all of them, and
// that no cell is a formula.
func TestTablesAsFiles(t *testing.T) {
	b := newBench(t, nil)
	b.h.apply(t, &event.ApplicationSubmitted{App: 9, Name: "=HYPERLINK(1)", User: "eve", Queue: "root.online",
		Unmanaged: true, MaxAttempts: 1}, &event.AttemptStarted{App: 9, Attempt: 1})
	for _, c := range []struct {
		path string
		rows int
		cell [3]string // the first cell of a row, a column, and what it has there
	}{
		{"/ui/apps.csv", 5, [3]string{"application_1780000000000_0009", "name", "'=HYPERLINK(1)"}},
		{"/ui/apps.csv?user=alice&sort=-memory", 2, [3]string{appOne, "uses gpu", "4"}},
		{"/ui/apps.csv?state=RUNNING", 2, [3]string{appOne, "uses memory MiB", "65536"}},
		{"/ui/nodes.csv", 3, [3]string{"sim-01:8041", "free vcores", "8"}},
		{"/ui/nodes.csv?find=02", 1, [3]string{"sim-02:8041", "registered UTC", "2026-05-28 20:26:40"}},
		{"/ui/queues.csv", 5, [3]string{"root", "guaranteed gpu", "12"}},
		{"/ui/decisions.csv?kind=ReservationMade", 1, [3]string{"12", "reservation", "r1"}},
	} {
		w := b.ask("GET", c.path, "")
		if w.Code != http.StatusOK || !strings.Contains(w.Header().Get("Content-Disposition"), ".csv") {
			t.Fatalf("%s: status %d, headers %v: %s", c.path, w.Code, w.Header(), w.Body)
		}
		rows, err := csv.NewReader(w.Body).ReadAll()
		if err != nil || len(rows) != c.rows+1 {
			t.Errorf("%s: %d rows, %v", c.path, len(rows)-1, err)
			continue
		}
		at := slices.IndexFunc(rows, func(r []string) bool { return r[0] == c.cell[0] })
		column := slices.Index(rows[0], c.cell[1])
		if at < 0 || column < 0 || rows[at][column] != c.cell[2] {
			t.Errorf("%s: %s is not in column %q of %s: %q", c.path, c.cell[2], c.cell[1], c.cell[0], rows)
		}
	}
	for path, link := range map[string]string{
		"/ui/apps?user=alice&after=1.9&all=1": "/ui/apps.csv?user=alice", "/ui/queues": "/ui/queues.csv",
		"/ui/nodes": "/ui/nodes.csv", "/ui/decisions?kind=all": "/ui/decisions.csv?kind=all"} {
		if !strings.Contains(b.ask("GET", path, "").Body.String(), `href="`+link+`" download`) {
			t.Errorf("%s does not lead to %s", path, link)
		}
	}
	if w := b.ask("GET", "/ui/apps.csv?queue=root.gone", ""); w.Code != http.StatusNotFound {
		t.Errorf("an unknown queue: status %d", w.Code)
	}
}
