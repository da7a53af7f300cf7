package event

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"rmd/yarn"
)

// Told is an event about which people read: a decision, or a report that interests others than its
// sender. Text returns it as a sentence without its application, container, node and reservation,
// which readers show beside it.
type Told interface {
	Event
	Text() string
}

// Text returns an event as a sentence, or "" if it is not Told.
func Text(e Event) string {
	if t, ok := e.(Told); ok {
		return t.Text()
	}
	return ""
}

// parts joins the parts of a sentence that are not empty.
func parts(all ...string) string {
	var b strings.Builder
	for _, s := range all {
		if b.Len() > 0 && s != "" {
			b.WriteString(", ")
		}
		b.WriteString(s)
	}
	return b.String()
}

// because appends the first line of a reason.
func because(what, why string) string {
	why, _, _ = strings.Cut(strings.TrimSpace(why), "\n")
	if why = strings.TrimSuffix(strings.TrimSpace(why), "."); why == "" {
		return what
	}
	return what + ": " + why
}

// words returns the name of a state or a cause in words.
func words(name fmt.Stringer) string {
	return strings.ToLower(strings.ReplaceAll(name.String(), "_", " "))
}

// outcome returns a final state in words, and the final status if it differs.
func outcome(state yarn.ApplicationState, final yarn.FinalStatus) string {
	if final == yarn.FinalUndefined || final.String() == state.String() ||
		state == yarn.AppFinished && final == yarn.FinalSucceeded {
		return words(state)
	}
	return words(state) + ", " + words(final)
}

// where says how near a container is to what its application asked for.
func where(l yarn.Locality) string {
	switch l {
	case yarn.NodeLocal:
		return "on a node it asked for"
	case yarn.RackLocal:
		return "on a rack it asked for"
	}
	return ""
}

func quoted(before, s string) string {
	if s == "" {
		return ""
	}
	return strings.TrimSpace(before + " “" + s + "”")
}

func by(who string) string {
	if who == "" {
		return ""
	}
	return "by " + who
}

// mostDescribed is the largest length of a description in bytes, without the list of hidden fields.
const mostDescribed = 600

// Describe returns an event on one line, for messages. It shows only the length of byte slices,
// because they are keys, hashes of tokens and submission contexts.
func Describe(e Event) string {
	v := reflect.New(reflect.TypeOf(e).Elem()).Elem()
	v.Set(reflect.ValueOf(e).Elem())
	hidden := ""
	for i := range v.NumField() {
		if b, ok := v.Field(i).Interface().([]byte); ok {
			hidden += fmt.Sprintf(", %s of %d bytes", v.Type().Field(i).Name, len(b))
			v.Field(i).SetZero()
		}
	}
	text := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, fmt.Sprintf("%s %+v", e.Kind(), v.Interface()))
	if len(text) > mostDescribed {
		text = strings.ToValidUTF8(text[:mostDescribed], "") + "…"
	}
	return text + hidden
}
