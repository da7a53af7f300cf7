// Package codectest fills values of types that the codec encodes, so that tests cover every field
// of every type without naming it. Only tests import it.
package codectest

import (
	"fmt"
	"reflect"

	"pgregory.net/rapid"
)

// Distinct fills every exported field reached from the pointer v with a different value, the same
// ones each time. So a test sees when two fields are swapped.
func Distinct(v any) {
	n := uint64(0)
	fill(reflect.ValueOf(v).Elem(), source{
		number: func(bits int) uint64 { n++; return (n*37 + 1) & (1<<min(bits-1, 62) - 1) },
		yes:    func() bool { return true },
		text:   func() string { n++; return fmt.Sprintf("text %d", n) },
		length: func() int { return 2 },
	})
}

// Random fills every exported field reached from the pointer v with random values. Empty lists are
// nil, as the codec decodes them.
func Random(t *rapid.T, v any) {
	fill(reflect.ValueOf(v).Elem(), source{
		number: func(int) uint64 {
			if rapid.Bool().Draw(t, "small") {
				return rapid.Uint64Max(300).Draw(t, "number")
			}
			return rapid.Uint64().Draw(t, "number")
		},
		yes:    func() bool { return rapid.Bool().Draw(t, "yes") },
		text:   func() string { return rapid.StringN(0, 6, 24).Draw(t, "text") },
		length: func() int { return rapid.IntRange(0, 3).Draw(t, "length") },
	})
}

// source provides the values.
type source struct {
	number func(bits int) uint64
	yes    func() bool
	text   func() string
	length func() int
}

func fill(v reflect.Value, s source) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(s.yes())
	case reflect.String:
		v.SetString(s.text())
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(s.number(v.Type().Bits()) & (1<<(v.Type().Bits()-1)<<1 - 1))
	case reflect.Int32, reflect.Int64:
		shift := 64 - v.Type().Bits()
		v.SetInt(int64(s.number(v.Type().Bits())) << shift >> shift)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), s)
		}
	case reflect.Slice:
		if n := s.length(); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fill(v.Index(i), s)
			}
		}
	case reflect.Pointer:
		if s.yes() {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), s)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), s)
		}
	default:
		panic("codectest: the codec carries no " + v.Type().String())
	}
}
