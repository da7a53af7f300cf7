package state

import (
	"encoding/binary"

	"rmd/yarn"
)

// AppDetails is what is seldom read of an application.
type AppDetails struct {
	Name     string
	Type     string
	Tags     []string
	Context  string       // the submission context's bytes
	AMPlaces []yarn.Place // hosts and racks to ask for the AM at
	Label    string       // of asks that name none
	AMLabel  string

	Host        string // of the AM
	TrackingURL string
	Diagnostics string
}

// packed is an application's details in one text. A collection of garbage looks at
// every pointer of every record: with 100,000 applications that is most of its work,
// and a text has one, to what holds none.
type packed string

func pack(d AppDetails) packed {
	n := 0
	for _, s := range []string{d.Name, d.Type, d.Context, d.Host, d.TrackingURL, d.Diagnostics, d.Label, d.AMLabel} {
		n += len(s) + 2
	}
	b := make([]byte, 0, n+2)
	text := func(s string) { b = append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	text(d.Name)
	text(d.Type)
	text(d.Context)
	text(d.Host)
	text(d.TrackingURL)
	text(d.Diagnostics)
	text(d.Label)
	text(d.AMLabel)
	b = binary.AppendUvarint(b, uint64(len(d.Tags)))
	for _, t := range d.Tags {
		text(t)
	}
	b = binary.AppendUvarint(b, uint64(len(d.AMPlaces)))
	for _, p := range d.AMPlaces {
		text(p.Name)
		b = append(b, byte(count(p.Relax)))
	}
	return packed(b)
}

// number takes a number off.
func (p *packed) number() int {
	n, shift := 0, 0
	for i := 0; i < len(*p); i++ {
		c := (*p)[i]
		if n |= int(c&0x7f) << shift; c < 0x80 {
			*p = (*p)[i+1:]
			return n
		}
		shift += 7
	}
	return n // a text that pack has not made
}

// text takes a text off; it shares the bytes.
func (p *packed) text() string {
	n := p.number()
	s := (*p)[:n]
	*p = (*p)[n:]
	return string(s)
}

func (p packed) unpack() (d AppDetails) {
	if p == "" {
		return d
	}
	d.Name, d.Type, d.Context = p.text(), p.text(), p.text()
	d.Host, d.TrackingURL, d.Diagnostics = p.text(), p.text(), p.text()
	d.Label, d.AMLabel = p.text(), p.text()
	if n := p.number(); n > 0 {
		d.Tags = make([]string, n)
		for i := range d.Tags {
			d.Tags[i] = p.text()
		}
	}
	if n := p.number(); n > 0 {
		d.AMPlaces = make([]yarn.Place, n)
		for i := range d.AMPlaces {
			d.AMPlaces[i] = yarn.Place{Name: p.text(), Relax: p[0] == 1}
			p = p[1:]
		}
	}
	return d
}

// Details returns what is seldom read. Its texts lie in the record's own bytes.
func (a *App) Details() AppDetails { return a.details.unpack() }

// DefaultLabel is the label of asks that name none; empty: the queue's default, yarn.NoLabel: none.
func (a *App) DefaultLabel() string {
	if !a.labelled {
		return ""
	}
	return a.Details().Label
}

// Apart returns the record without its details, and them, to be shown.
func (a *App) Apart() (App, AppDetails) {
	bare := *a
	bare.details = ""
	return bare, a.Details()
}

// changeDetails replaces them whole.
func (a *App) changeDetails(change func(d *AppDetails)) {
	d := a.Details()
	change(&d)
	a.details = pack(d)
}
