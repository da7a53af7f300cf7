package plot

import (
	"cmp"
	"html/template"
)

// Bar is a dot at Mid, a thick line to High and a thin line to Max.
type Bar struct {
	Ink            Ink
	Name           string // for the legend
	Mid, High, Max float64
	Text           string // after the bar
	Empty          bool   // there are no values; only Text is shown
}

// Row is a group of bars with a name.
type Row struct {
	Label, Note string
	Bars        []Bar
}

// Ranges has rows of bars over one axis.
type Ranges struct {
	Title, Note string
	Heading     string // heading of the texts after the bars
	X           Axis
	Rows        []Row
	Width       int // 0: a whole page
}

// Space for the names of rows and for the texts after the bars.
const (
	rangesHead = 15 + 3*headLine
	rowLabel   = 150
	rowText    = 130
	barStep    = 19
	rowGap     = 14
)

// height returns the height of the bars, but at least that of the two lines of the row's name.
func (r Row) height() int { return max(len(r.Bars), 2)*barStep + rowGap }

// SVG draws the ranges.
func (r Ranges) SVG() template.HTML {
	h := rangesHead + padBottom
	for _, row := range r.Rows {
		h += row.height()
	}
	w := cmp.Or(r.Width, wholeWidth)
	s := newSheet(w, h, r.Title)
	var names []Line
	if len(r.Rows) > 0 {
		for _, b := range r.Rows[0].Bars {
			names = append(names, Line{Name: b.Name, Ink: b.Ink})
		}
	}
	s.head(r.Title, r.Note, names)
	p := plane{rowLabel, rangesHead, float64(w - rowText), float64(h - padBottom), r.X, Axis{}}
	s.text(p.right+12, p.top-3, "note", r.Heading)
	last := -100.0
	for _, v := range r.X.Ticks {
		x := p.px(v)
		s.addf(`<line class="grid" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, x, x, p.top, p.bottom)
		if x-last > 30 {
			s.middle(x, p.bottom+17, "tick", r.X.text(v))
			last = x
		}
	}
	s.right(p.right, p.bottom+32, "tick", r.X.Label)
	y := p.top + rowGap/2
	for _, row := range r.Rows {
		s.text(0, y+13, "name", row.Label)
		s.text(0, y+29, "note", row.Note)
		for _, b := range row.Bars {
			s.bar(p, b, y+barStep/2)
			y += barStep
		}
		y += float64(row.height() - len(row.Bars)*barStep)
	}
	return s.end()
}

// bar draws one bar.
func (s *sheet) bar(p plane, b Bar, y float64) {
	if b.Empty {
		s.text(p.right+12, y+4, "note", b.Text)
		return
	}
	mid, high, most := p.px(b.Mid), p.px(b.High), p.px(b.Max)
	s.addf(`<g class="bar %s"><title>%s: %s</title>`, b.Ink, template.HTMLEscapeString(b.Name),
		template.HTMLEscapeString(b.Text))
	s.addf(`<line class="thin" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, high, most, y, y)
	s.addf(`<line class="thin" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, most, most, y-3, y+3)
	s.addf(`<line class="thick" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, mid, high, y, y)
	s.addf(`<circle cx="%.1f" cy="%.1f" r="5"/></g>`, mid, y)
	s.text(p.right+12, y+4, "tick", b.Text)
}
