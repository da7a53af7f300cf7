package plot

import (
	_ "embed"
	"html/template"
	"io"
)

// Page is a report on one page.
type Page struct {
	Title    string
	Lead     string
	Keys     []Key
	Sections []Section
	Foot     string
}

// Key is a figure to see first.
type Key struct{ Name, Value, Note string }

// Section is figures under one heading.
type Section struct {
	Title   string
	Text    string
	Figures []Figure // two in a row, those as wide as a page alone
	Table   *Table
}

// Table is figures as text.
type Table struct {
	Heads []string
	Rows  [][]string
	Notes []string
}

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

// FigureStyle is the style sheet of figures on a page that has a style of its own, with the colors
// --ink, --soft and --line.
//
//go:embed figure.css
var FigureStyle string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"style": func() template.CSS { return template.CSS(FigureStyle + pageStyle) },
	"whole": whole,
}).Parse(pageText))

// whole says whether a figure takes a row of its own.
func whole(f Figure) bool {
	switch f := f.(type) {
	case Ranges:
		return true
	case Chart:
		return f.Width > halfWidth
	}
	return false
}

// Write writes the page.
func (p Page) Write(w io.Writer) error { return pageTemplate.Execute(w, p) }
