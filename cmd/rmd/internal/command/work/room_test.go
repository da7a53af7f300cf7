package work

import (
	"slices"
	"testing"
	"unicode/utf8"

	"rmd/api"
)

func TestRoomLines(t *testing.T) {
	size := func(memory, vcores, gpu int64) api.Resource {
		return api.Resource{api.MemoryMB: memory << 10, api.VCores: vcores, api.GPU: gpu}
	}
	room := func(label string, empty, serving int, free ...api.Resource) api.LabelRoom {
		r := api.LabelRoom{Label: label, Room: api.Room{EmptyNodes: empty, ServingNodes: serving}}
		for _, f := range free {
			r.Largest = append(r.Largest, api.LargestRoom{Node: "n", Free: f})
		}
		return r
	}
	for _, c := range []struct {
		rooms []api.LabelRoom
		want  []string
	}{
		{nil, nil},
		{[]api.LabelRoom{room("", 0, 0)}, []string{"no node takes containers"}},
		{[]api.LabelRoom{room("", 1, 1)}, []string{"1 of 1 node empty, no room for a container"}},
		{[]api.LabelRoom{room("", 3, 4000, size(105, 11, 0), size(75, 16, 3))},
			[]string{"3 of 4,000 nodes empty, largest free room 105 GiB · 11 vc", "or 75 GiB · 16 vc · 3 gpu"}},
		{[]api.LabelRoom{room("", 3, 40, size(384, 11, 0), size(200, 96, 3), size(175, 16, 8)), room("spot", 0, 2),
			room("x", 0, 0), room("y", 1, 1), room("z", 1, 1)}, []string{
			"no label: 3 of 40 nodes empty, largest free room 384 GiB · 11 vc",
			"or 200 GiB · 96 vc · 3 gpu or 175 GiB · 16 vc · 8 gpu",
			"label spot: 0 of 2 nodes empty, no room for a container", "label x: no node takes containers",
			"2 labels more: rmd label list -o wide"}},
	} {
		got := RoomLines(c.rooms, 80)
		if !slices.Equal(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
		for _, l := range got {
			if n := utf8.RuneCountInString(l); n > 80 {
				t.Errorf("%q has %d columns", l, n)
			}
		}
	}
}
