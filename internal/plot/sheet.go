package plot

import (
	"fmt"
	"html/template"
	"strings"
	"unicode/utf8"
)

// sheet builds one SVG.
type sheet struct{ b strings.Builder }

func newSheet(w, h int, name string) *sheet {
	s := &sheet{}
	s.addf(`<svg class="plot" viewBox="0 0 %d %d" role="img" aria-label="%s" xmlns="http://www.w3.org/2000/svg">`, w, h,
		template.HTMLEscapeString(name))
	return s
}

func (s *sheet) addf(format string, args ...any) { fmt.Fprintf(&s.b, format, args...) }

// end returns the SVG. All texts in it are escaped.
func (s *sheet) end() template.HTML { return template.HTML(s.b.String() + "</svg>") }

func (s *sheet) text(x, y float64, class, text string)   { s.write(x, y, class, "start", text) }
func (s *sheet) right(x, y float64, class, text string)  { s.write(x, y, class, "end", text) }
func (s *sheet) middle(x, y float64, class, text string) { s.write(x, y, class, "middle", text) }

func (s *sheet) write(x, y float64, class, anchor, text string) {
	if text != "" {
		s.addf(`<text class="%s" x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, class, x, y, anchor,
			template.HTMLEscapeString(text))
	}
}

// moment writes a time of day, with its Unix milliseconds for the script of a page.
func (s *sheet) moment(x, y, millis float64, text string) {
	s.addf(`<text class="tick" x="%.1f" y="%.1f" text-anchor="middle" data-at="%.0f">%s</text>`, x, y, millis,
		template.HTMLEscapeString(text))
}

// head writes title, note and legend, and returns the y position below them.
func (s *sheet) head(title, note string, lines []Line) float64 {
	y := 15.0
	s.text(0, y, "title", title)
	if note != "" {
		y += headLine
		s.text(0, y, "note", note)
	}
	for _, l := range lines {
		if l.Name != "" {
			y += headLine
			s.legend(0, y, lines)
			break
		}
	}
	return y + headLine
}

// legend writes the names of the lines, each after a sample of its line.
func (s *sheet) legend(x, y float64, lines []Line) {
	for _, l := range lines {
		if l.Name == "" {
			continue
		}
		dash := ""
		if l.Dashed {
			dash = " dashed"
		}
		s.addf(`<path class="line %s%s" d="M%.1f %.1fh18"/>`, l.Ink, dash, x, y-4)
		s.text(x+23, y, "name", l.Name)
		x += 23 + 6.6*float64(utf8.RuneCountInString(l.Name)) + 16
	}
}

// pathBuilder builds an SVG path. It omits invisible steps.
type pathBuilder struct {
	strings.Builder
	x, y float64
}

func (b *pathBuilder) move(x, y float64) {
	fmt.Fprintf(b, "M%.1f %.1f", x, y)
	b.x, b.y = x, y
}

func (b *pathBuilder) across(x float64) {
	if x-b.x >= 0.05 {
		fmt.Fprintf(b, "H%.1f", x)
		b.x = x
	}
}

func (b *pathBuilder) to(x, y float64) {
	switch {
	case x-b.x < 0.05 && y-b.y < 0.05 && b.y-y < 0.05:
		return
	case x-b.x < 0.05:
		fmt.Fprintf(b, "V%.1f", y)
	default:
		fmt.Fprintf(b, "L%.1f %.1f", x, y)
	}
	b.x, b.y = x, y
}
