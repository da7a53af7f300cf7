package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/property"
	"rmd/scheduler/input"
)

// confChanges lists the keys that the newest version of the configuration changed.
func confChanges(versions state.QueueVersions) string {
	if len(versions) < 2 {
		return ""
	}
	old, now := &versions[len(versions)-2], &versions[len(versions)-1]
	text, left := keysChanged(old.Properties, now.Properties)
	if text = fmt.Sprintf("version %d", now.Version) + text; left > 0 {
		text += fmt.Sprintf("; and %d more: \"rmd conf diff %d %d\"", left, old.Version, now.Version)
	}
	return text
}

// confWanted lists the keys that an operation wants to change.
func confWanted(versions state.QueueVersions, in *input.SetQueues) string {
	var old []state.Property
	if v := versions.Current(); v != nil {
		old = v.Properties
	}
	wanted := make([]state.Property, len(in.Properties))
	for i, p := range in.Properties {
		wanted[i] = state.Property{Name: p.Name, Value: p.Value}
	}
	slices.SortStableFunc(wanted, func(a, b state.Property) int { return cmp.Compare(a.Name, b.Name) })
	text, left := keysChanged(old, wanted)
	if left > 0 {
		text += fmt.Sprintf("; and %d more", left)
	}
	return strings.TrimPrefix(text, "; ")
}

// keysChanged lists the keys that differ in two sorted lists, with their values in both, each after
// "; ". It hides secrets. left is the number of keys for which there was no room.
func keysChanged(a, z []state.Property) (list string, left int) {
	var b strings.Builder
	add := func(name string, from, to *state.Property) {
		text := "; " + strings.TrimPrefix(name, capacity.Prefix) + ": " + confValue(from) + " → " + confValue(to)
		if left > 0 || b.Len()+len(text) > TargetMax-100 {
			left++
			return
		}
		b.WriteString(text)
	}
	for len(a) > 0 || len(z) > 0 {
		switch {
		case len(z) == 0 || len(a) > 0 && a[0].Name < z[0].Name:
			add(a[0].Name, &a[0], nil)
			a = a[1:]
		case len(a) == 0 || z[0].Name < a[0].Name:
			add(z[0].Name, nil, &z[0])
			z = z[1:]
		default:
			if a[0].Value != z[0].Value {
				add(a[0].Name, &a[0], &z[0])
			}
			a, z = a[1:], z[1:]
		}
	}
	return b.String(), left
}

func confValue(v *state.Property) string {
	switch {
	case v == nil:
		return "unset"
	case property.Secret(v.Name):
		return "(hidden)"
	}
	return strconv.Quote(input.Cut(v.Value, valueMax))
}
