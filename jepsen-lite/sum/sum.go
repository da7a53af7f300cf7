// Package sum adds up counts.
package sum

import (
	"fmt"
	"reflect"
)

// Fields adds every field of from to the same field of to, also in structs within. All fields must be
// integers or such structs. Otherwise it panics.
func Fields[T any](to *T, from T) { fields(reflect.ValueOf(to).Elem(), reflect.ValueOf(from)) }

func fields(to, from reflect.Value) {
	switch {
	case to.Kind() == reflect.Struct:
		for i := range to.NumField() {
			fields(to.Field(i), from.Field(i))
		}
	case to.CanInt():
		to.SetInt(to.Int() + from.Int())
	case to.CanUint():
		to.SetUint(to.Uint() + from.Uint())
	default:
		panic(fmt.Sprintf("%s cannot be counted", to.Type()))
	}
}
