package property

import (
	"slices"
	"strings"
)

// Sorted returns the properties by name and without origins, so that equal configurations
// from different files are equal.
func Sorted(values map[string]Property) []Property {
	out := make([]Property, 0, len(values))
	for _, p := range values { // sorted below
		out = append(out, Property{Name: p.Name, Value: p.Value})
	}
	slices.SortFunc(out, func(a, b Property) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// AddMissing adds a property to a sorted list unless the list has one of that name.
func AddMissing(list *[]Property, p Property) {
	i, ok := Find(*list, p.Name)
	if !ok {
		*list = slices.Insert(*list, i, p)
	}
}

// Find returns the index of a name in a sorted list, or where it would be inserted.
func Find(list []Property, name string) (int, bool) {
	return slices.BinarySearchFunc(list, name, func(p Property, n string) int { return strings.Compare(p.Name, n) })
}

// Below returns the properties of a sorted list whose names begin with a prefix.
func Below(list []Property, prefix string) []Property {
	from, _ := Find(list, prefix)
	to := from
	for to < len(list) && strings.HasPrefix(list[to].Name, prefix) {
		to++
	}
	return list[from:to]
}

// Changed returns the names whose values differ in two lists that are sorted by name.
func Changed(a, b []Property) (out []string) {
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Name < b[0].Name:
			out, a = append(out, a[0].Name), a[1:]
		case len(a) == 0 || b[0].Name < a[0].Name:
			out, b = append(out, b[0].Name), b[1:]
		default:
			if a[0].Value != b[0].Value {
				out = append(out, a[0].Name)
			}
			a, b = a[1:], b[1:]
		}
	}
	return out
}
