package work

import (
	"fmt"
	"strings"

	"rmd/api"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/internal/thousands"
)

// roomsShown is the largest number of labels whose rooms the head of a list shows. The wide form of
// `rmd label list` has all of them.
const roomsShown = 3

// RoomLines says for each label how many nodes are empty, and what is free on the nodes with the
// most free resources. Each label begins a line.
func RoomLines(rooms []api.LabelRoom, width int) []string {
	var lines []string
	for i := range rooms[:min(len(rooms), roomsShown)] {
		r := &rooms[i]
		parts := roomParts(&r.Room)
		switch {
		case r.Label != "":
			parts[0] = "label " + r.Label + ": " + parts[0]
		case len(rooms) > 1:
			parts[0] = "no label: " + parts[0]
		}
		lines = append(lines, strings.Split(verb.Pack(parts, " ", width), "\n")...)
	}
	if more := len(rooms) - roomsShown; more > 0 {
		lines = append(lines, fmt.Sprintf("%s more: rmd label list -o wide", thousands.Count(more, "label")))
	}
	return lines
}

// roomParts returns the parts between which a line may break.
func roomParts(r *api.Room) []string {
	if r.ServingNodes == 0 {
		return []string{"no node takes containers"}
	}
	parts := []string{fmt.Sprintf("%d of %s empty,", r.EmptyNodes, thousands.Count(r.ServingNodes, "node"))}
	for i, l := range r.Largest {
		lead := "or "
		if i == 0 {
			lead = "largest free room "
		}
		parts = append(parts, lead+l.Free.String())
	}
	if len(r.Largest) == 0 {
		parts = append(parts, "no room for a container")
	}
	if len(r.Blocked) > 0 {
		parts = append(parts, "blocked by reservations on other nodes "+r.Blocked.String())
	}
	return parts
}

// largestText returns what is free on the nodes with the most of some kind.
func largestText(r *api.Room) string {
	var parts []string
	for _, l := range r.Largest {
		parts = append(parts, l.Free.String())
	}
	return strings.Join(parts, " or ")
}
