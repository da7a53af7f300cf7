package event

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"
)

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
