package capacity

import (
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"rmd/yarn"
)

// notChanges are the fields of a queue that Changes leaves out: they say which queue it is, or follow
// from the others.
var notChanges = []string{"Path", "Name", "Parent", "Children", "Depth", "Leaf", "State", "Creation", "AutoCreate",
	"Active", "Template"}

// TestChangesNamesEveryField checks that a difference in each field of a queue has a name: a new key of
// queues needs a row in Changes.
func TestChangesNamesEveryField(t *testing.T) {
	fields := reflect.TypeFor[Queue]()
	for i := range fields.NumField() {
		f := fields.Field(i)
		if slices.Contains(notChanges, f.Name) {
			continue
		}
		before, after := &Config{Queues: make([]Queue, 1)}, &Config{Queues: make([]Queue, 1)}
		at := reflect.ValueOf(&after.Queues[0]).Elem().Field(i)
		// also of fields that are not exported
		change(t, f.Name, reflect.NewAt(at.Type(), unsafe.Pointer(at.UnsafeAddr())).Elem())
		if names := before.Changes(0, after, 0); len(names) != 1 {
			t.Errorf("another %s: Changes returns %q", f.Name, names)
		}
	}
}

// change gives a value another one.
func change(t *testing.T, field string, v reflect.Value) {
	t.Helper()
	switch x := v.Addr().Interface().(type) {
	case *yarn.ACL:
		x.All = true
		return
	case *yarn.Resource:
		x[0] = 1
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("x")
	case reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8:
		v.SetUint(1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Struct:
		change(t, field, v.Field(0))
	default:
		t.Fatalf("%s: a %s cannot be changed here", field, v.Kind())
	}
}
