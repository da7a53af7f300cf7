package ui

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"rmd/api"
)

// position is the place of a row in a sorted list. Rows are sorted by key and then by id, which is
// unique.
type position struct {
	key int64
	id  uint64
}

// row is an item of a sorted list.
type row[T any] struct {
	position
	item T
}

func comparePositions(a, b position) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.id, b.id))
}

// top selects the first rows of a list from many rows in any order. It needs the memory of a few
// pages, and a page makes only one pass over a table.
type top[T any] struct {
	most int
	desc bool
	rows []row[T]
	last *position // the first row after a full page; rows after it are dropped
	all  int       // rows that passed the filter, including those before the cursor
}

// cursor is the row after which a page begins. The address has it as KEY.ID, so pages do not shift
// when other rows come or go.
type cursor struct {
	position
	set bool
}

func (q *query) cursor() (cursor, error) {
	text := q.q.Get("after")
	if text == "" {
		return cursor{}, nil
	}
	key, id, ok := strings.Cut(text, ".")
	k, err1 := strconv.ParseInt(key, 10, 64)
	i, err2 := strconv.ParseUint(id, 10, 64)
	if !ok || err1 != nil || err2 != nil {
		return cursor{}, bad("the address does not name a page of this list", "begin at the first page")
	}
	return cursor{position{key: k, id: i}, true}, nil
}

func (p position) String() string { return fmt.Sprintf("%d.%d", p.key, p.id) }

func (t *top[T]) order(a, b position) int {
	if t.desc {
		return comparePositions(b, a)
	}
	return comparePositions(a, b)
}

// add adds an item that has passed the filter.
func (t *top[T]) add(at position, item T, after cursor) {
	t.all++
	if after.set && t.order(at, after.position) <= 0 || t.last != nil && t.order(at, *t.last) >= 0 {
		return
	}
	t.rows = append(t.rows, row[T]{at, item})
	if len(t.rows) >= 4*t.most+64 {
		t.cut()
	}
}

func (t *top[T]) cut() {
	slices.SortFunc(t.rows, func(a, b row[T]) int { return t.order(a.position, b.position) })
	t.rows = t.rows[:min(len(t.rows), t.most+1)]
	if len(t.rows) > t.most {
		last := t.rows[t.most].position
		t.last = &last
	}
}

// page returns the rows of the page and the cursor of the next page, or "".
func (t *top[T]) page() ([]row[T], string) {
	t.cut()
	if len(t.rows) <= t.most {
		return t.rows, ""
	}
	rows := t.rows[:t.most]
	return rows, rows[t.most-1].String()
}

// pager is the line below a list.
type pager struct {
	All, Shown  int
	First, Next string // addresses; empty on the first and last page
	What        string
	File        string // address of all rows as a file; empty if there is none
}

// pager returns the pager with the addresses of the other pages.
func (q *query) pager(what string, all, shown int, next string) pager {
	p := pager{All: all, Shown: shown, What: what}
	if q.q.Has("after") {
		p.First = q.with("after", "")
	}
	if next != "" {
		p.Next = q.with("after", next)
	}
	return p
}

// with returns this page's address with one parameter changed. An empty value removes the
// parameter.
func (q *query) with(name, value string) string {
	v := url.Values{}
	for k, list := range q.q { // Encode sorts
		v[k] = list
	}
	v.Del("done")
	if value == "" {
		v.Del(name)
	} else {
		v.Set(name, value)
	}
	if len(v) == 0 {
		return q.r.URL.EscapedPath()
	}
	return q.r.URL.EscapedPath() + "?" + v.Encode()
}

// column is the head of a column.
type column struct {
	Title, Link, Sorted string // Sorted is ascending, descending, or empty
	Number              bool
	Hint                string // explains the column
}

// sorting parses ?sort=NAME or ?sort=-NAME.
func (q *query) sorting(known []string, usual string) (name string, desc bool, err error) {
	text := q.q.Get("sort")
	if text == "" {
		text = usual
	}
	name, desc = strings.CutPrefix(text, "-")
	if !slices.Contains(known, name) {
		return "", false, bad("a list cannot be sorted by "+name, "choose a column's head")
	}
	return name, desc, nil
}

// column returns the head of a column. Its link sorts by the column, or reverses the order if the
// list is already sorted by it.
func (q *query) column(title, name, sorted string, desc, isNumber bool) column {
	c := column{Title: title, Number: isNumber}
	if name == "" {
		return c
	}
	next := "-" + name
	if !isNumber {
		next = name
	}
	if name == sorted {
		c.Sorted, next = "ascending", "-"+name
		if desc {
			c.Sorted, next = "descending", name
		}
	}
	c.Link = (&query{r: q.r, q: without(q.q, "after")}).with("sort", next)
	return c
}

// sortable is a column of a table that fits on one page. If compare is nil, the table cannot be
// sorted by it.
type sortable[T any] struct {
	title, name string
	hint        string
	number      bool
	compare     func(a, b T) int
}

// sortTable sorts the rows of such a table as the address says, and returns its heads. The sort is
// stable.
func sortTable[T any](q *query, usual string, columns []sortable[T], rows []T) ([]column, error) {
	heads, compare, err := orderOf(q, usual, columns)
	if err == nil {
		slices.SortStableFunc(rows, compare)
	}
	return heads, err
}

// orderOf returns the heads of such a table, and the comparison of rows that the address demands.
func orderOf[T any](q *query, usual string, columns []sortable[T]) (heads []column,
	compare func(a, b T) int, err error) {
	var known []string
	for _, c := range columns {
		known = append(known, c.name)
	}
	sorted, desc, err := q.sorting(known, usual)
	if err != nil {
		return nil, nil, err
	}
	compare = func(T, T) int { return 0 }
	for _, c := range columns {
		heads = append(heads, q.column(c.title, c.name, sorted, desc, c.number))
		heads[len(heads)-1].Hint = c.hint
		switch {
		case c.name != sorted || c.compare == nil:
		case desc:
			compare = func(a, b T) int { return c.compare(b, a) }
		default:
			compare = c.compare
		}
	}
	return heads, compare, nil
}

func without(v url.Values, name string) url.Values {
	out := url.Values{}
	for k, list := range v { // the order does not matter: the result is a map
		if k != name {
			out[k] = list
		}
	}
	return out
}

// bad returns an error for an address or form that cannot be understood.
func bad(what, do string) error {
	return &api.Error{Code: api.CodeInvalidRequest, Message: what, Remedy: do, Status: 400}
}

// choice is an option of a filter.
type choice struct {
	Value, Text string
	Chosen      bool
}

func choices(values []string, chosen string) []choice {
	out := make([]choice, 0, len(values))
	for _, v := range values {
		out = append(out, choice{Value: v, Text: v, Chosen: v == chosen})
	}
	return out
}

// words parses a filter of several words. All words must be known.
func (q *query) words(name string, known []string) (map[string]bool, error) {
	var out map[string]bool
	for _, list := range q.q[name] {
		for _, w := range strings.Split(list, ",") {
			w = strings.ToUpper(strings.TrimSpace(w))
			if w == "" {
				continue
			}
			if !slices.Contains(known, w) {
				return nil, bad(name+" "+w+" is not known", "choose one of "+strings.Join(known, ", "))
			}
			if out == nil {
				out = map[string]bool{}
			}
			out[w] = true
		}
	}
	return out, nil
}
