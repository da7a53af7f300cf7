package event

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"
)

// mostDescribed is how many bytes of a description are given.
const mostDescribed = 600

// Describe writes an event on one line, for messages. Of bytes it gives only the number: they are
// keys, tokens' hashes and submission contexts.
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
