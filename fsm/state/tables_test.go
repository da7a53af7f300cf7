package state

import (
	"fmt"
	"reflect"
	"regexp"
)

// address is who may write a part of a record in place: another one in each fork.
var address = regexp.MustCompile(`Writer:(0x[0-9a-f]+|<nil>)`)

// rows lists every record of every table of s, with the fields that are derived.
func rows(s *State) (all []string) {
	var walk func(path string, v reflect.Value)
	walk = func(path string, v reflect.Value) {
		if each := v.Addr().MethodByName("Each"); each.IsValid() {
			row := reflect.MakeFunc(each.Type().In(0), func(args []reflect.Value) []reflect.Value {
				all = append(all, address.ReplaceAllString(fmt.Sprintf("%s %d: %+v", path, args[0].Uint(), args[1].Elem()), ""))
				return []reflect.Value{reflect.ValueOf(true)}
			})
			each.Call([]reflect.Value{row})
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Type.Kind() == reflect.Struct {
				walk(path+"."+f.Name, v.Field(i))
			}
		}
	}
	walk("", reflect.ValueOf(s).Elem())
	return all
}
