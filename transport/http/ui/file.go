package ui

import (
	"net/http"

	"rmd/transport/http/ui/download"
	"rmd/yarn"
)

// file is the table of a page with all its rows, for a spreadsheet.
type file struct {
	head download.Row
	n    int
	row  func(i int) download.Row
}

// The number of rows that a file may have. Events of which there are more have to be looked up in the log
// again, from the newest on.
const (
	fileRows   = 1 << 30
	fileEvents = 10_000
)

// most returns how many rows of a list the query is for.
func (q *query) most() int {
	if q.file != nil {
		return fileRows
	}
	return q.u.cfg.PageRows
}

// fileOf sets the rows of the query's file.
func fileOf[T any](q *query, n int, item func(i int) T, row func(T) download.Row) {
	var none T
	*q.file = file{head: row(none), n: n, row: func(i int) download.Row { return row(item(i)) }}
}

// fileLink returns the address of the file with the rows of this page, and of those that follow.
func (q *query) fileLink() string {
	link := (&query{r: q.r, q: without(q.q, "after")}).with("all", "")
	path := q.r.URL.EscapedPath()
	return path + ".csv" + link[len(path):]
}

// kinds returns the kinds of resources, which are columns of a file.
func (q *query) kinds() []string { return q.v.Size(yarn.Resource{}).Names() }

// answerFile answers with the table of a page as a file.
func (u *UI) answerFile(w http.ResponseWriter, r *http.Request, p page) {
	v, err := u.view(r)
	if err != nil {
		u.fail(w, r, err)
		return
	}
	q := &query{u: u, r: r, v: v, q: r.URL.Query(), behind: true, file: &file{}}
	if _, err := p.show(q); err != nil {
		u.fail(w, r, err)
		return
	}
	download.Write(w, p.name, q.file.head, q.file.n, q.file.row)
}
