package plot

import (
	"html/template"
	"math"
	"strings"
)

// Ink is the name of a color in the page's style.
type Ink string

// The colors. The same data has the same color on the whole page.
const (
	Blue   Ink = "blue"
	Orange Ink = "orange"
	Green  Ink = "green"
	Violet Ink = "violet"
	Yellow Ink = "yellow"
	Gray   Ink = "gray"
)

// Figure is a part of a page.
type Figure interface{ SVG() template.HTML }

// Point is one value of a line.
type Point struct{ X, Y float64 }

// Line is a named series of points, in order of X. A point whose Y is NaN is a gap.
type Line struct {
	Name   string
	Ink    Ink
	Points []Point
	Step   bool // a value is valid until the next
	Fill   bool // the area below the line is filled
	Dashed bool
}

// Mark marks a time that matters for all lines, such as an election. If Until is above At, it marks
// the interval.
type Mark struct {
	At, Until float64
	Text      string
}

// Chart has lines over one axis.
type Chart struct {
	Title  string
	Note   string // small, under the title
	Empty  string // shown if no line has points
	X, Y   Axis
	Lines  []Line
	Marks  []Mark
	Width  int // 0: half a page
	Height int // 0: 240
}

// Sizes of a chart: the space around the plane and the heights of text.
const (
	halfWidth   = 540
	wholeWidth  = 1100
	chartHeight = 240
	padLeft     = 52
	padRight    = 14
	padBottom   = 36
	headLine    = 18
	tickLine    = 13 // minimum distance of the texts of an axis
)

// plane is the rectangle of the axes.
type plane struct {
	left, top, right, bottom float64
	x, y                     Axis
}

func (p plane) px(v float64) float64 { return p.left + p.x.at(v)*(p.right-p.left) }
func (p plane) py(v float64) float64 { return p.bottom - p.y.at(v)*(p.bottom-p.top) }

// SVG draws the chart.
func (c Chart) SVG() template.HTML {
	w, h := c.size()
	s := newSheet(w, h, strings.TrimSuffix(c.Title+": "+c.Note, ": "))
	top := s.head(c.Title, c.Note, c.Lines)
	p := plane{padLeft, top, float64(w) - padRight, float64(h) - padBottom, c.X, c.Y}
	drawn := 0
	for _, l := range c.Lines {
		if len(l.runs()) > 0 {
			drawn++
		}
	}
	s.grid(p)
	for _, m := range c.Marks {
		s.mark(p, m)
	}
	for _, l := range c.Lines {
		s.line(p, l)
	}
	if drawn == 0 && c.Empty != "" {
		s.middle((p.left+p.right)/2, (p.top+p.bottom)/2, "note", c.Empty)
	}
	return s.end()
}

func (c Chart) size() (w, h int) {
	w, h = c.Width, c.Height
	if w == 0 {
		w = halfWidth
	}
	if h == 0 {
		h = chartHeight
	}
	return w, h
}

// Wide is the width of a chart with its own row.
const Wide = wholeWidth

// grid draws the lines and texts of both axes.
func (s *sheet) grid(p plane) {
	above := math.Inf(1) // position of the last text
	for _, v := range p.y.Ticks {
		if v > p.y.Max*(1+1e-9) {
			continue
		}
		y := p.py(v)
		s.addf(`<line class="grid" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, p.left, p.right, y, y)
		if above-y >= tickLine {
			s.right(p.left-6, y+4, "tick", p.y.text(v))
			above = y
		}
	}
	last := -100.0
	for _, v := range p.x.Ticks {
		if v > p.x.Max*(1+1e-9) {
			continue
		}
		x := p.px(v)
		s.addf(`<line class="axis" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, x, x, p.bottom, p.bottom+4)
		if text := p.x.text(v); x-last > 7*float64(len(text))+8 && x+3.5*float64(len(text)) <= p.right+padRight {
			if p.x.Clock {
				s.moment(x, p.bottom+17, v, text)
			} else {
				s.middle(x, p.bottom+17, "tick", text)
			}
			last = x
		}
	}
	s.addf(`<line class="axis" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, p.left, p.right, p.bottom, p.bottom)
	class := "tick"
	if p.x.Clock {
		class = "tick zone"
	}
	s.right(p.right, p.bottom+32, class, p.x.Label)
}

// line draws one line, with its name as the tooltip.
func (s *sheet) line(p plane, l Line) {
	var whole strings.Builder
	for _, run := range l.runs() {
		d := p.path(run, l.Step)
		if l.Fill {
			last, first := run[len(run)-1], run[0]
			s.addf(`<path class="fill %s" d="%s L%.1f %.1f L%.1f %.1fZ"/>`, l.Ink, d, p.px(last.X), p.bottom,
				p.px(first.X), p.bottom)
		}
		whole.WriteString(d)
	}
	if whole.Len() == 0 {
		return
	}
	dash := ""
	if l.Dashed {
		dash = " dashed"
	}
	s.addf(`<path class="line %s%s" d="%s"><title>%s</title></path>`, l.Ink, dash, whole.String(),
		template.HTMLEscapeString(l.Name))
}

// runs returns the parts of a line between its gaps.
func (l Line) runs() (out [][]Point) {
	from := 0
	for i := 0; i <= len(l.Points); i++ {
		if i < len(l.Points) && !math.IsNaN(l.Points[i].Y) {
			continue
		}
		if i > from {
			out = append(out, l.Points[from:i])
		}
		from = i + 1
	}
	return out
}

// path returns the SVG path of a line without gaps.
func (p plane) path(points []Point, step bool) string {
	var b pathBuilder
	for i, pt := range points {
		x, y := p.px(pt.X), p.py(pt.Y)
		switch {
		case i == 0:
			b.move(x, y)
		case step:
			b.across(x)
			b.to(x, y)
		default:
			b.to(x, y)
		}
	}
	if len(points) == 1 { // a single point has no length and would be invisible
		b.across(b.x + 1)
	}
	return b.String()
}

// mark draws a vertical line, with a triangle and its text at the top.
func (s *sheet) mark(p plane, m Mark) {
	x, until := p.px(m.At), p.px(max(m.Until, m.At))
	s.addf(`<g class="mark"><title>%s</title>`, template.HTMLEscapeString(m.Text))
	if until-x >= 1 {
		s.addf(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, x, p.top, until-x, p.bottom-p.top)
	}
	s.addf(`<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/><path d="M%.1f %.1fl-4 -7h8z"/></g>`, x, x, p.top,
		p.bottom, x, p.top)
}
