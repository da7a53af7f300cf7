// Package owed says what is certain about the leaves that wait for containers within their guarantees:
// that a leaf waits for one, that containers of other queues could end for it, and what is kept for it
// then. The ledger fills in a Partition from the log. Whatever is not certain, for instance because of a
// user's limit, counts as no: then a leaf may rightly wait.
package owed

import (
	"fmt"
	"math/big"

	"rmd/yarn"
)

// Partition has the nodes of one label, and how the queues use them.
type Partition struct {
	Total    yarn.Resource
	Dominant bool     // all kinds of resources count, not only the memory
	Ignored  *big.Rat // the part of its guarantee that a queue may use beyond it and give nothing
	Queues   []Queue
	Nodes    []*Node
	Asks     []Ask
}

// Queue is a queue in the partition.
type Queue struct {
	Parent             int32 // index in Queues; -1 for root
	Gone               bool
	Protected          bool // preemption takes nothing from it
	Guarantee, Most    yarn.Resource
	Live, Held, Warned yarn.Resource // its containers, its reservations, the containers with warnings
}

// Node is a node that takes containers.
type Node struct {
	Name     string
	Room     yarn.Resource // what is free when all that is ending has ended
	Reserved bool
	Left     yarn.Resource // what a reservation leaves of Room
	Offers   []Container
}

// Container is a container that may end if its queue can spare it.
type Container struct {
	Leaf int32
	Size yarn.Resource
}

// Ask is an ask of an application that may run, for at least one container.
type Ask struct {
	App   uint32
	Leaf  int32
	Size  yarn.Resource
	Count int64
	Sure  bool    // nothing else, such as its gang, holds it back
	More  bool    // it accepts every node, and wants more containers than it has reserved nodes
	Homes []*Node // nodes that it has reserved for long enough
}

// rounding is by how much a guarantee may differ from the product's, because each level of the tree is
// rounded.
const rounding = 16

// Below reports whether a leaf may be below its guarantee, and whether it asks for anything.
func (p *Partition) Below(leaf int32) bool {
	q, asks := &p.Queues[leaf], false
	for i := range p.Asks {
		asks = asks || p.Asks[i].Leaf == leaf
	}
	for k := range q.Live {
		if (k == yarn.Memory || p.Dominant) && q.Live[k] < q.Guarantee[k]+rounding {
			return asks
		}
	}
	return false
}

// Waits reports whether a leaf certainly waits for a container within its guarantee.
func (p *Partition) Waits(leaf int32) bool {
	for i := range p.Asks {
		if a := &p.Asks[i]; a.Sure && a.Leaf == leaf && p.fits(p.Queues[leaf].Live.Add(a.Size), p.Queues[leaf].Guarantee) {
			return true
		}
	}
	return false
}

// Obtains describes how a round of preemption can certainly make room for a container that a leaf waits
// for within its guarantee: by the end of one container, or of those of a node. It returns "" if that
// is not certain. With the dominant calculator it never is, because there the part that a queue may
// keep has no simple bound.
func (p *Partition) Obtains(leaf int32) string {
	if p.Dominant || p.unfair() {
		return ""
	}
	for i := range p.Asks {
		a := &p.Asks[i]
		if a.Leaf != leaf || !a.Sure || p.hasRoom(a) {
			continue
		}
		nodes, reserves := a.Homes, yarn.Resource{}
		if a.More && len(nodes) == 0 {
			nodes, reserves = p.Nodes, a.Size
		}
		for _, n := range nodes {
			if p.gives(n, a, reserves) {
				return fmt.Sprintf("application %d waits for %s, and %s can give it", a.App, a.Size, n.Name)
			}
		}
	}
	return ""
}

// unfair reports whether a protected queue keeps more than its guarantee. Then there may be too little
// for the guarantees of the others.
func (p *Partition) unfair() bool {
	for i := range p.Queues {
		if q := &p.Queues[i]; !q.Gone && q.Protected && !p.fits(q.Live.Add(q.Held), q.Guarantee) {
			return true
		}
	}
	return false
}

// hasRoom reports whether some node has room for an ask, beside a reservation.
func (p *Partition) hasRoom(a *Ask) bool {
	for _, n := range p.Nodes {
		if p.fits(a.Size, n.Left) {
			return true
		}
	}
	return false
}

// gives reports whether containers of a node may end and make room for an ask: one, or all of each queue
// there that can spare them all. The ask reserves the node then, or has reserved it.
func (p *Partition) gives(n *Node, a *Ask, reserves yarn.Resource) bool {
	lacks := a.Size[yarn.Memory] - n.Room[yarn.Memory]
	if lacks <= 0 || n.Reserved == !reserves.IsZero() || !p.allows(a, reserves, lacks) {
		return false
	}
	of, sum := map[int32]int64{}, int64(0)
	for _, c := range n.Offers {
		if c.Size[yarn.Memory] >= lacks && p.spares(c.Leaf, c.Size[yarn.Memory], a) {
			return true
		}
		of[c.Leaf] += c.Size[yarn.Memory]
	}
	for i, size := range of { // only the sum counts, not the order
		if p.spares(i, size, a) {
			sum += size
		}
	}
	return sum >= lacks
}

// allows reports whether the leaf of an ask has no more than its guarantee with the container and with its
// reservations, and the maxima of its queues allow the new reservation after so much memory has been freed.
func (p *Partition) allows(a *Ask, reserves yarn.Resource, freed int64) bool {
	leaf := &p.Queues[a.Leaf]
	if !p.fits(leaf.Live.Add(a.Size), leaf.Guarantee) || !p.fits(leaf.Live.Add(leaf.Held).Add(reserves), leaf.Guarantee) {
		return false
	}
	for i := a.Leaf; i >= 0 && !reserves.IsZero(); i = p.Queues[i].Parent {
		q := &p.Queues[i]
		used := q.Live.Add(q.Held).Add(reserves).Sub(q.Warned)[yarn.Memory]
		if q.Parent < 0 {
			used -= freed
		}
		if used > q.Most[yarn.Memory] {
			return false
		}
	}
	return true
}

// spares reports whether a leaf must give something while an ask of another leaf waits, and keeps its
// guarantee without so much memory.
func (p *Partition) spares(i int32, size int64, a *Ask) bool {
	q := &p.Queues[i]
	guarantee := q.Guarantee[yarn.Memory] + rounding
	most := new(big.Rat).Mul(new(big.Rat).SetInt64(guarantee), new(big.Rat).Add(p.Ignored, big.NewRat(1, 1)))
	left := q.Live[yarn.Memory] - q.Warned[yarn.Memory]
	return i != a.Leaf && !q.Protected && new(big.Rat).SetInt64(q.Live[yarn.Memory]).Cmp(most) > 0 &&
		left > p.atMost(i)+rounding && left-size >= guarantee
}

// atMost returns the most memory to which a queue can be entitled: what is left of its parent's when its
// siblings have what they are entitled to.
func (p *Partition) atMost(i int32) int64 {
	q := &p.Queues[i]
	if q.Parent < 0 {
		return p.Total[yarn.Memory]
	}
	most := p.atMost(q.Parent)
	for k := range p.Queues {
		if o := &p.Queues[k]; int32(k) != i && !o.Gone && o.Parent == q.Parent {
			most -= p.atLeast(int32(k))
		}
	}
	return most
}

// atLeast returns the memory to which a queue is certainly entitled: what it uses and asks for, within its
// guarantee.
func (p *Partition) atLeast(i int32) int64 {
	wants := p.Queues[i].Live[yarn.Memory]
	for k := range p.Asks {
		for up := p.Asks[k].Leaf; p.Asks[k].Sure && up >= 0; up = p.Queues[up].Parent {
			if up == i {
				wants += p.Asks[k].Size[yarn.Memory] * p.Asks[k].Count
			}
		}
	}
	return min(wants, p.Queues[i].Guarantee[yarn.Memory])
}

// fits reports whether a size fits into room, by the kinds that count.
func (p *Partition) fits(size, room yarn.Resource) bool {
	if !p.Dominant {
		return size[yarn.Memory] <= room[yarn.Memory]
	}
	return size.Within(room)
}
