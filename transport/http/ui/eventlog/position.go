// Package eventlog reads parts of the log as events, for the pages that list or replay decisions.
package eventlog

import (
	"fmt"
	"strconv"
	"strings"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/transport/http/problem"
	"rmd/transport/http/view"
)

// Reader reads the log of a replica. Without a Log, it says that the log is not available.
type Reader struct{ Log view.LogReader }

// Pass reports whether an event belongs to a list. Its arguments are the event's kind, its subject,
// and a function that makes the event's document.
type Pass func(kind event.Kind, s view.Subject, d func() api.Event) bool

// Position is a position in the log: before the event of entry Index that has Place events before
// it in the entry. The zero value is the end of the log.
type Position struct {
	Index uint64
	Place int
}

// Recent is a part of the log, newest event first. The next part ends at Next; Next is zero if
// there is none.
type Recent struct {
	Events []Decision
	Next   Position
}

// Decision is a committed event with its place in the log. If its entry does not advance the clock,
// it has the time of the entry before.
type Decision struct {
	Index, Term uint64
	Place       int // number of events before it in its entry
	AtMillis    int64
	Text        string // the event in words; empty if it has none
	api.Event
}

// String formats a position for the address of a page. It is empty for the end of the log.
func (p Position) String() string {
	switch {
	case p.Index == 0:
		return ""
	case p.Place == 0:
		return fmt.Sprint(p.Index)
	}
	return fmt.Sprintf("%d.%d", p.Index, p.Place)
}

// ParsePosition parses the text of Position.String.
func ParsePosition(text string) (p Position, err error) {
	if text == "" {
		return p, nil
	}
	index, place, within := strings.Cut(text, ".")
	p.Index, err = strconv.ParseUint(index, 10, 64)
	if err == nil && within {
		var n uint64
		n, err = strconv.ParseUint(place, 10, 31)
		p.Place = int(n)
	}
	if err != nil {
		return Position{}, problem.Invalid("the address does not name a page of this list", "begin at the first page")
	}
	return p, nil
}
