// Package nodemap draws all nodes of the cluster, and says how many have room for containers of a size.
package nodemap

import (
	"fmt"
	"strconv"
	"strings"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/transport/http/ui/bar"
	"rmd/transport/http/ui/format"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// Map draws every node as a square whose class says how full the node is. All squares of a
// class are one SVG path. Therefore ten thousand nodes are a few hundred kilobytes, and not ten
// thousand elements.
type Map struct {
	Width, Height int
	Layers        []mapLayer
	Nodes         int
	Live          bool // small enough to be drawn again at each tick
}

// mapLayer has all squares of a class.
type mapLayer struct{ Class, Text, Path string }

// Sizes of the map.
const (
	mapSquare  = 9 // with its margin
	mapColumns = 120
	mapLive    = 1000
)

// levels lists the classes of nodes: how full they are in their fullest kind, or why they take no
// containers.
var levels = []struct{ class, text string }{
	{"idle", "idle"}, {"low", "up to a third used"}, {"half", "up to two thirds used"}, {"high", "over two thirds used"},
	{"full", "full"}, {"held", "reserved"}, {"away", "not usable"},
}

func levelOf(n *state.Node) int {
	if !n.State.Usable() {
		return 6
	}
	if n.Reservation != 0 {
		return 5
	}
	var most int64
	for i, total := range n.Total {
		if total > 0 {
			most = max(most, n.Allocated[i]*300/total)
		}
	}
	switch {
	case most == 0:
		return 0
	case most >= 300:
		return 4
	}
	return 1 + int(min(most/100, 2))
}

func New(list []*state.Node) Map {
	m := Map{Nodes: len(list), Live: len(list) <= mapLive}
	columns := min(max(len(list), 1), mapColumns)
	paths := make([]strings.Builder, len(levels))
	counts := make([]int, len(levels))
	for i, n := range list {
		l := levelOf(n)
		counts[l]++
		b := &paths[l]
		b.WriteByte('M')
		b.WriteString(strconv.Itoa(i % columns * mapSquare))
		b.WriteByte(' ')
		b.WriteString(strconv.Itoa(i / columns * mapSquare))
		b.WriteString("h8v8h-8z")
	}
	m.Width, m.Height = columns*mapSquare, (len(list)+columns-1)/columns*mapSquare
	for i, l := range levels {
		if counts[i] > 0 {
			m.Layers = append(m.Layers, mapLayer{Class: l.class, Path: paths[i].String(),
				Text: fmt.Sprintf("%s %s", format.Number(counts[i]), l.text)})
		}
	}
	return m
}

// Shape says how many nodes could take a container of a size now, and how many could if they were
// empty.
type Shape struct {
	Size      api.Resource
	Now, Ever int
	Bar       bar.Bar
}

// shapeParts lists the fractions, as denominators, of the largest node for which shapes are shown.
var shapeParts = [...]int64{1, 2, 4, 8, 16}

// ShapesOf returns the shapes for the largest total of a node and for its fractions.
func ShapesOf(v *view.View, list []*state.Node) []Shape {
	var largest yarn.Resource
	usable := 0
	for _, n := range list {
		if n.State == yarn.NodeRunning {
			usable++
			largest = yarn.ComponentMax(largest, n.Total)
		}
	}
	if usable == 0 {
		return nil
	}
	var sizes [len(shapeParts)]yarn.Resource
	var out [len(shapeParts)]Shape
	for k, part := range shapeParts {
		for i, most := range largest {
			sizes[k][i] = most / part
		}
		out[k].Size = v.Size(sizes[k])
	}
	for _, n := range list {
		if n.State != yarn.NodeRunning {
			continue
		}
		free := n.Unallocated()
		for k := range sizes {
			if sizes[k].Within(n.Total) {
				out[k].Ever++
				if n.Reservation == 0 && n.TakesContainers() && sizes[k].Within(free) {
					out[k].Now++
				}
			}
		}
	}
	for k := range out {
		s := &out[k]
		s.Bar = bar.New(int64(usable)).Add(int64(s.Now), "free", format.Number(s.Now)+" now").Add(int64(s.Ever-s.Now),
			"pending", format.Number(s.Ever-s.Now)+" when they are emptier").
			Done(fmt.Sprintf("%s fits on %d of %d nodes now, on %d at all", format.Amount(s.Size), s.Now, usable, s.Ever))
	}
	return out[:]
}
