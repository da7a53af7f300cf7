package input

import (
	"maps"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"rmd/internal/codec/codectest"
	"rmd/yarn"
)

// bounded calls f with every field below a type that needs a limit because its type does not bound
// it.
func bounded(t reflect.Type, field string, f func(field string, t reflect.Type)) {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			bounded(t.Field(i).Type, t.Name()+"."+t.Field(i).Name, f)
		}
	case reflect.Slice:
		f(field, t)
		if t.Elem().Kind() != reflect.Uint8 {
			bounded(t.Elem(), field+"[]", f)
		}
	case reflect.String, reflect.Int64, reflect.Uint64, reflect.Int, reflect.Uint, reflect.Map:
		f(field, t)
	case reflect.Array: // a Resource: yarn.MaxAmount
	case reflect.Pointer, reflect.Interface:
		f(field+" is a "+t.Kind().String()+", which Check does not follow", t)
	}
}

// TestEveryFieldHasALimit checks that each such field of all inputs has an entry in limits.
func TestEveryFieldHasALimit(t *testing.T) {
	left := maps.Clone(limits)
	types := []reflect.Type{reflect.TypeFor[Caller]()}
	for _, k := range kinds() {
		types = append(types, reflect.TypeOf(New(k)).Elem())
	}
	for _, typ := range types {
		bounded(typ, "", func(field string, _ reflect.Type) {
			delete(left, field)
			if _, ok := limits[field]; !ok {
				t.Errorf("%s has no limit: give it one in limits.go", field)
			}
		})
	}
	for field := range left {
		t.Errorf("%s is a limit of no field", field)
	}
	for field, l := range limits {
		if l.over != nothing && (l.most <= 0 || l.most > MaxMillis) {
			t.Errorf("%s: up to %d", field, l.most)
		}
	}
}

// set sets the field with that name, anywhere below v, and reports whether there is one.
func set(v reflect.Value, name, field string, to func(v reflect.Value)) bool {
	if name == field {
		to(v)
		return true
	}
	switch {
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if set(v.Field(i), v.Type().Name()+"."+v.Type().Field(i).Name, field, to) {
				return true
			}
		}
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8:
		return v.Len() > 0 && set(v.Index(v.Len()-1), name+"[]", field, to)
	}
	return false
}

// filled returns a setter that gives a field n bytes, n elements or the value n.
func filled(n int64) func(v reflect.Value) {
	return func(v reflect.Value) {
		switch v.Kind() {
		case reflect.String:
			v.SetString(strings.Repeat("x", int(n)))
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), int(n), int(n)))
		default:
			v.SetInt(n)
		}
	}
}

// TestLimitsHold checks every field of every input at its limit and above it.
func TestLimitsHold(t *testing.T) {
	for _, k := range kinds() {
		bounded(reflect.TypeOf(New(k)).Elem(), "", func(field string, _ reflect.Type) {
			l := limits[field]
			if l.over == nothing {
				return
			}
			at := sample(k)
			if !set(reflect.ValueOf(at).Elem(), "", field, filled(l.most)) {
				t.Fatalf("no %s in %T", field, at)
			}
			if f := Check(Request{Input: at}); f != nil {
				t.Errorf("%s at its limit: %v", field, f)
			}
			above := sample(k)
			set(reflect.ValueOf(above).Elem(), "", field, filled(l.most+1))
			switch f := Check(Request{Input: above}); {
			case l.over == refuse && (f == nil || !strings.Contains(f.What, field) || f.Do == ""):
				t.Errorf("%s above its limit: %v", field, f)
			case l.over != refuse && f != nil:
				t.Errorf("%s above its limit is refused: %v", field, f)
			}
			if f := Check(Request{Input: above}); l.over != refuse && f != nil {
				t.Errorf("%s does not stay within its limit: %v", field, f)
			}
		})
	}
	if f := Check(Request{Caller: Caller{Who: strings.Repeat("w", 2*MaxName+1)}, Input: &Tick{}}); f == nil ||
		f.Reason != TooLarge {
		t.Errorf("a long name: %v", f)
	}
	if f := Check(Request{Key: strings.Repeat("k", MaxKey+1), Input: &Tick{}}); f == nil || f.Reason != TooLarge {
		t.Errorf("a long key: %v", f)
	}
}

// TestHostileTexts sends texts that are not UTF-8 or have control characters in every text of every
// input. Check must refuse the input with the field's name, or clean the text.
func TestHostileTexts(t *testing.T) {
	for _, k := range kinds() {
		bounded(reflect.TypeOf(New(k)).Elem(), "", func(field string, typ reflect.Type) {
			if typ.Kind() != reflect.String {
				return
			}
			for _, text := range []string{"a\x00b", "a\xffb", "a\x1b[31mb", "a\u202eb"} {
				in := sample(k)
				if !set(reflect.ValueOf(in).Elem(), "", field, func(v reflect.Value) { v.SetString(text) }) {
					t.Fatalf("no %s in %T", field, in)
				}
				f, kept := Check(Request{Input: in}), ""
				set(reflect.ValueOf(in).Elem(), "", field, func(v reflect.Value) { kept = v.String() })
				if f == nil && kept == text || f != nil &&
					(!strings.Contains(f.What, field) || f.Reason != InvalidRequest || f.Do == "") {
					t.Errorf("%s with %q: %v, kept as %q", field, text, f, kept)
				}
			}
		})
	}
	for _, name := range []string{"../root", "/etc", "a/..", " ann"} {
		if f := Check(Request{Input: &SubmitApplication{User: name}}); f == nil ||
			!strings.Contains(f.What, "SubmitApplication.User") {
			t.Errorf("the user %q: %v", name, f)
		}
	}
	if got := TagUser([]string{"userid=../root"}); got != "" {
		t.Errorf("a tag names the user %q", got)
	}
}

// TestAmountsAreBounded checks that no resource of an input may be so large that sums overflow.
func TestAmountsAreBounded(t *testing.T) {
	var resources func(v reflect.Value, f func(v reflect.Value))
	resources = func(v reflect.Value, f func(v reflect.Value)) {
		switch {
		case v.Type() == resourceType:
			f(v)
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				resources(v.Field(i), f)
			}
		case v.Kind() == reflect.Slice && v.Len() > 0:
			resources(v.Index(0), f)
		}
	}
	seen := 0
	for _, k := range kinds() {
		in := sample(k)
		resources(reflect.ValueOf(in).Elem(), func(v reflect.Value) {
			seen++
			for _, n := range []int64{yarn.MaxAmount + 1, math.MaxInt64, math.MinInt64} {
				for i := range yarn.MaxKinds {
					v.Set(reflect.Zero(v.Type()))
					v.Index(i).SetInt(n)
					if f := Check(Request{Input: in}); f == nil || f.Reason != InvalidRequest {
						t.Errorf("%T with %d of kind %d: %v", in, n, i, f)
					}
				}
			}
			v.Set(reflect.ValueOf(yarn.NewResource(yarn.MaxAmount, 1)))
			if f := Check(Request{Input: in}); f != nil {
				t.Errorf("%T with the most there may be: %v", in, f)
			}
		})
	}
	if seen < 6 {
		t.Errorf("only %d resources in all inputs", seen)
	}
}

// TestTextsAreShortened checks that a name keeps its start and a report its end, and that no
// character is split.
func TestTextsAreShortened(t *testing.T) {
	long := strings.Repeat("é", 100_000)
	sub, kill := &SubmitApplication{Name: "first " + long}, &KillApplication{Diagnostics: long + "the cause"}
	if f := Check(Request{Input: sub}); f != nil || !strings.HasPrefix(sub.Name, "first ") || len(sub.Name) > 1<<10 ||
		!utf8.ValidString(sub.Name) {
		t.Errorf("Check of a long name: %v, %d bytes, valid UTF-8 %v, want none, at most 1024, and its start",
			f, len(sub.Name), utf8.ValidString(sub.Name))
	}
	if f := Check(Request{Input: kill}); f != nil || !strings.HasSuffix(kill.Diagnostics, "the cause") ||
		len(kill.Diagnostics) > MaxText || !utf8.ValidString(kill.Diagnostics) {
		t.Errorf("Check of long diagnostics: %v, %d bytes, valid UTF-8 %v, want none, at most %d, and its end",
			f, len(kill.Diagnostics), utf8.ValidString(kill.Diagnostics), MaxText)
	}
	drain := &DrainNode{DeadlineMillis: math.MaxInt64}
	if f := Check(Request{Input: drain}); f != nil || drain.DeadlineMillis != MaxMillis {
		t.Errorf("Check of a deadline: %v, then %d, want no fault and %d",
			f, drain.DeadlineMillis, MaxMillis)
	}
}

// TestCheckArbitraryInput checks that Check does not panic on any input, and that it accepts an
// input again that it has accepted.
func TestCheckArbitraryInput(t *testing.T) {
	for _, k := range kinds() {
		rapid.Check(t, func(t *rapid.T) {
			in := New(k)
			codectest.Random(t, in)
			if Check(Request{Input: in}) == nil && Check(Request{Input: in}) != nil {
				t.Fatalf("Check accepts an input and refuses it when it is checked again: %+v", in)
			}
		})
	}
}

func BenchmarkCheckHeartbeat(b *testing.B) {
	in := &NodeHeartbeat{ID: yarn.NodeID{Host: "host-1", Port: 45454}, Statuses: make([]ContainerStatus, 3)}
	b.ReportAllocs()
	for b.Loop() {
		if Check(Request{Input: in}) != nil {
			b.Fatal("refused")
		}
	}
}
