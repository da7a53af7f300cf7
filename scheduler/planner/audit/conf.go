package audit

import (
	"fmt"
	"strconv"
	"strings"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/property"
	"rmd/scheduler/input"
)

// confChanges lists the keys that the newest version of the configuration changed, with their old
// and new values. It hides secrets.
func confChanges(versions state.QueueVersions) string {
	if len(versions) < 2 {
		return ""
	}
	old, now := &versions[len(versions)-2], &versions[len(versions)-1]
	var b strings.Builder
	fmt.Fprintf(&b, "version %d", now.Version)
	left := 0
	add := func(name string, from, to *state.Property) {
		text := "; " + strings.TrimPrefix(name, capacity.Prefix) + ": " + confValue(from) + " → " + confValue(to)
		if left > 0 || b.Len()+len(text) > TargetMax-100 {
			left++
			return
		}
		b.WriteString(text)
	}
	a, z := old.Properties, now.Properties
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
	if left > 0 {
		fmt.Fprintf(&b, "; and %d more: \"rmd conf diff %d %d\"", left, old.Version, now.Version)
	}
	return b.String()
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
