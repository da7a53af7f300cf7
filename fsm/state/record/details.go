package record

import (
	"encoding/binary"

	"rmd/yarn"
)

// Diagnostics is a container's diagnostics. It has a table of its own because few containers have
// diagnostics, and because Container then contains no pointer, so that the garbage collector skips
// its pages.
type Diagnostics struct{ Text string }

// AppDetails has the fields of an application that are seldom read.
type AppDetails struct {
	Name     string
	Type     string
	Tags     []string
	Context  string       // encoded submission context
	AMPlaces []yarn.Place // hosts and racks at which to ask for the AM
	Label    string       // default label of asks; see DefaultLabel
	AMLabel  string

	Host        string // of the AM
	TrackingURL string
	Diagnostics string
	ClientKey   MasterKey // signs the tokens of the AM's clients; has no ID, and no Bytes if there is none
}

// packed is an application's details, encoded in one string. The garbage collector visits every
// pointer of every record. With 100,000 applications this is most of its work, so a record has a
// single pointer to memory that contains no pointers.
type packed string

func pack(d AppDetails) packed {
	n := len(d.ClientKey.Bytes) + 2
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
	text(string(d.ClientKey.Bytes))
	b = binary.AppendUvarint(b, uint64(d.ClientKey.Algorithm))
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

// number decodes a number and removes it from p.
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
	return n // p was not made by pack
}

// text decodes a string and removes it from p. The result shares p's memory.
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
	d.ClientKey = MasterKey{Bytes: []byte(p.text()), Algorithm: yarn.HMAC(p.number())}
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

// Details returns the seldom read fields. The strings share memory with the record.
func (a *App) Details() AppDetails { return a.details.unpack() }

// DefaultLabel returns the label of asks that name none. It is empty if the queue's default label
// applies, and yarn.NoLabel if such asks want nodes without a label.
func (a *App) DefaultLabel() string {
	if !a.Labelled {
		return ""
	}
	return a.Details().Label
}

// Apart returns a copy of the record without its details, and the details, for display.
func (a *App) Apart() (App, AppDetails) {
	bare := *a
	bare.details = ""
	return bare, a.Details()
}

// SetDetails sets the seldom read fields, and the fields that follow from them.
func (a *App) SetDetails(d AppDetails) {
	a.details, a.NameHash, a.declaredMillis = pack(d), hashOfAppName(d.Name), declaredLifetime(d.Tags)
	a.Labelled = d.Label != "" || d.AMLabel != ""
}

// ChangeDetails decodes the details, calls change, and encodes them again. The name and the tags of an
// application never change.
func (a *App) ChangeDetails(change func(d *AppDetails)) {
	d := a.Details()
	change(&d)
	a.details, a.Labelled = pack(d), d.Label != "" || d.AMLabel != ""
}
