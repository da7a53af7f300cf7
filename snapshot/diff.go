package snapshot

import (
	"bytes"
	"fmt"
	"strings"

	"rmd/fsm/state"
	"rmd/internal/codec"
)

// Bounds of the result of Diff.
const (
	diffsPerSection = 3
	diffsMax        = 30
	diffTextMax     = 600
)

// Diff returns the first differences of two states by section and slot, or nothing if they are
// equal. The caller must not change the states meanwhile.
func Diff(a, b *state.State) []string {
	var out []string
	for _, s := range state.Sections() {
		if len(out) >= diffsMax {
			break
		}
		out = append(out, diffSection(s, a, b)...)
	}
	return out
}

func diffSection(s state.Section, a, b *state.State) []string {
	left, right := slots(s, a), slots(s, b)
	var out []string
	total := 0
	note := func(format string, args ...any) {
		if total++; total <= diffsPerSection {
			out = append(out, s.Name+" "+fmt.Sprintf(format, args...))
		}
	}
	for len(left) > 0 || len(right) > 0 {
		switch {
		case len(right) == 0 || (len(left) > 0 && left[0] < right[0]):
			note("slot %d: only in the first: %s", left[0], show(s.Name, a, left[0]))
			left = left[1:]
		case len(left) == 0 || right[0] < left[0]:
			note("slot %d: only in the second: %s", right[0], show(s.Name, b, right[0]))
			right = right[1:]
		default:
			slot := left[0]
			if !bytes.Equal(record(s, a, slot), record(s, b, slot)) {
				note("slot %d: %s, in the second %s", slot, show(s.Name, a, slot), show(s.Name, b, slot))
			}
			left, right = left[1:], right[1:]
		}
	}
	if total > diffsPerSection {
		out = append(out, fmt.Sprintf("%s: %d differences in all", s.Name, total))
	}
	return out
}

func slots(s state.Section, st *state.State) []uint32 {
	out := make([]uint32, 0, s.Len(st))
	s.Each(st, func(slot uint32) bool { out = append(out, slot); return true })
	return out
}

func record(s state.Section, st *state.State, slot uint32) []byte {
	c := codec.NewEncoder(nil)
	s.Code(st, slot, c)
	return c.Bytes()
}

// show returns a record as text. It omits records that may contain secrets.
func show(section string, st *state.State, slot uint32) string {
	text := "(not shown)"
	switch section {
	case "meta":
		text = fmt.Sprintf("%+v", st.Meta)
	case "configuration":
		text = fmt.Sprintf("%d versions", len(st.Versions))
		if v := st.Versions.Current(); v != nil {
			text = fmt.Sprintf("%d versions up to %d", len(st.Versions), v.Version)
		}
	case "names":
		text = fmt.Sprintf("%q", st.Names.Get(state.NameSlot(slot)).Text)
	case "queues":
		text = fmt.Sprintf("%+v", *st.Queues.Get(state.QueueSlot(slot)))
	case "users":
		text = fmt.Sprintf("%+v", *st.Users.Get(state.UserSlot(slot)))
	case "nodes":
		text = fmt.Sprintf("%+v", *st.Nodes.Get(state.NodeSlot(slot)))
	case "applications":
		a, details := st.Apps.Get(state.AppSlot(slot)).Apart()
		details.Context = ""
		text = fmt.Sprintf("%+v %+v", a, details)
	case "asks":
		text = fmt.Sprintf("%+v", *st.Asks.Get(state.AskSlot(slot)))
	case "locations":
		text = fmt.Sprintf("%+v", *st.Locations.Get(state.LocationSlot(slot)))
	case "containers":
		text = fmt.Sprintf("%+v", *st.Containers.Get(state.ContainerSlot(slot)))
	case "diagnostics":
		text = fmt.Sprintf("%q", st.Diagnostics.Get(state.DiagnosticsSlot(slot)).Text)
	case "reservations":
		text = fmt.Sprintf("%+v", *st.Reservations.Get(state.ReservationSlot(slot)))
	case "reservation-bans":
		text = fmt.Sprintf("%+v", *st.ReservationBans.Get(state.ReservationBanSlot(slot)))
	case "requests":
		text = st.Requests.Get(state.RequestSlot(slot)).Key
	}
	if len(text) > diffTextMax {
		text = strings.ToValidUTF8(text[:diffTextMax], "") + "…"
	}
	return text
}
