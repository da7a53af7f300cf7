package input

import (
	"fmt"
	"reflect"
	"strings"

	"rmd/yarn"
)

// Check compares the fields of a request with their limits before the request is used. It shortens
// texts that people read and moves times into their range, in place. For other fields it returns a
// fault that names the field.
func Check(r Request) *Refusal {
	if len(r.Key) > MaxKey {
		return Refusef(TooLarge, "use a shorter one", "the idempotency key has %d bytes, at most %d are taken",
			len(r.Key), MaxKey)
	}
	if r.Caller != (Caller{}) {
		if fault := checkCaller(reflect.ValueOf(r.Caller)); fault != nil {
			return fault
		}
	}
	check := checks[r.Input.Kind()]
	if check == nil {
		return nil
	}
	return check(reflect.ValueOf(r.Input).Elem())
}

// A check inspects one value with all its fields and elements.
type check func(v reflect.Value) *Refusal

// checks are the checks of each kind of input, made once from its type. A nil check means that the
// type has nothing to check.
var checks = func() map[Kind]check {
	out := map[Kind]check{}
	for k := Kind(1); k < KindsEnd; k++ {
		in := New(k)
		if in == nil {
			panic(fmt.Sprintf("input: kind %d has no row in kinds.go", k))
		}
		out[k] = checkOf(reflect.TypeOf(in).Elem(), "")
	}
	return out
}()

var checkCaller = checkStruct(reflect.TypeFor[Caller]())

var resourceType = reflect.TypeFor[yarn.Resource]()

// checkOf returns the check of a field's type, or nil if the type itself bounds its values.
func checkOf(t reflect.Type, field string) check {
	switch {
	case t == resourceType:
		return checkResource(field)
	case t.Kind() == reflect.Struct:
		return checkStruct(t)
	case t.Kind() == reflect.String:
		return checkText(field, limits[field])
	case t.Kind() == reflect.Int64, t.Kind() == reflect.Uint64:
		return checkNumber(field, limits[field])
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return checkLength(field, "bytes", limits[field])
	case t.Kind() == reflect.Slice:
		return checkList(t, field)
	}
	return nil
}

func checkStruct(t reflect.Type) check {
	type fieldCheck struct {
		at    int
		check check
	}
	var fields []fieldCheck
	for i := range t.NumField() {
		if c := checkOf(t.Field(i).Type, t.Name()+"."+t.Field(i).Name); c != nil {
			fields = append(fields, fieldCheck{i, c})
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return func(v reflect.Value) *Refusal {
		for _, f := range fields {
			if fault := f.check(v.Field(f.at)); fault != nil {
				return fault
			}
		}
		return nil
	}
}

func checkList(t reflect.Type, field string) check {
	length, each := checkLength(field, "entries", limits[field]), checkOf(t.Elem(), field+"[]")
	return func(v reflect.Value) *Refusal {
		if fault := length(v); fault != nil || each == nil {
			return fault
		}
		for i := range v.Len() {
			if fault := each(v.Index(i)); fault != nil {
				return fault
			}
		}
		return nil
	}
}

func checkLength(field, what string, l limit) check {
	return func(v reflect.Value) *Refusal {
		if n := int64(v.Len()); n > l.most {
			return Refusef(TooLarge, "send less", "%s has %d %s, at most %d are taken", field, n, what, l.most)
		}
		return nil
	}
}

func checkText(field string, l limit) check {
	if l.over == refuse {
		return checkName(field, l)
	}
	return func(v reflect.Value) *Refusal {
		text := v.String()
		clean := yarn.CleanText(text)
		switch over := len(clean) - int(l.most); {
		case over <= 0:
		case l.over == keepStart:
			clean = strings.ToValidUTF8(clean[:l.most], "")
		default:
			clean = strings.ToValidUTF8(clean[over:], "")
		}
		if clean != text {
			v.SetString(clean)
		}
		return nil
	}
}

// checkName checks a text that is not shortened.
func checkName(field string, l limit) check {
	length := checkLength(field, "bytes", l)
	return func(v reflect.Value) *Refusal {
		if fault := length(v); fault != nil {
			return fault
		}
		if err := l.form.check(v.String()); err != nil {
			return Refusef(InvalidRequest, "send UTF-8 without control characters; a user may not be a path either",
				"%s: %v", field, err)
		}
		return nil
	}
}

func (f form) check(text string) error {
	switch f {
	case userForm:
		return yarn.CheckUser(text)
	case textForm:
		if clean := yarn.CleanText(text); clean != text {
			return fmt.Errorf("%.40q has control characters, or is not UTF-8", text)
		}
		return nil
	}
	return yarn.CheckName(text)
}

func checkNumber(field string, l limit) check {
	if l.over == nothing {
		return nil
	}
	return func(v reflect.Value) *Refusal {
		n := v.Int()
		if n >= l.least && n <= l.most {
			return nil
		}
		if l.over == nearest {
			v.SetInt(min(max(n, l.least), l.most))
			return nil
		}
		return Refusef(InvalidRequest, fmt.Sprintf("give %d to %d", l.least, l.most), "%s is %d", field, n)
	}
}

func checkResource(field string) check {
	return func(v reflect.Value) *Refusal {
		for i := range v.Len() {
			if n := v.Index(i).Int(); n < amount.least || n > amount.most {
				return Refusef(InvalidRequest, fmt.Sprintf("give at most %d of each kind", amount.most),
					"%s has %d of a kind", field, n)
			}
		}
		return nil
	}
}
