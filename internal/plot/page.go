package plot

import (
	_ "embed"
	"html/template"
	"io"
)

// Page is a report.
type Page struct {
	Title    string
	Lead     string
	Keys     []Key
	Sections []Section
	Foot     string
}

// Key is one of the most important values.
type Key struct{ Name, Value, Note string }

// Section is a group of figures with a heading.
type Section struct {
	Title   string
	Text    string
	Figures []Figure // two in a row, wide ones alone
	Table   *Table
}

// Table is a table of values.
type Table struct {
	Heads []string
	Rows  [][]string
	Notes []string
}

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

// FigureStyle is the style sheet of figures, for pages with their own style. It uses the colors
// --ink, --soft and --line of the page.
//
//go:embed figure.css
var FigureStyle string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"style": func() template.CSS { return template.CSS(FigureStyle + pageStyle) },
	"whole": hasOwnRow,
}).Parse(pageText))

// hasOwnRow reports whether a figure has its own row.
func hasOwnRow(f Figure) bool {
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
