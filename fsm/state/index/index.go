// Package index finds slots by hash, in pages that forks share until one of them writes. A slot is the
// place of a record in its table; 0 means none.
package index

// Owned has a bit for each page that a table or an index may write in place. A fork shares all
// pages, so afterwards neither side owns any. The bits are not in the pages themselves: a pointer to
// an owner in a page would make the garbage collector scan every page.
type Owned []uint64

// Has reports whether a page may be written in place.
func (o Owned) Has(p uint32) bool { return o[p/64]&(1<<(p%64)) != 0 }

// Add says that a page may be written in place.
func (o Owned) Add(p uint32) { o[p/64] |= 1 << (p % 64) }

// Index finds slots by hash. It is a hash table with open addressing in copy-on-write pages. An
// entry has a slot and its distance from the home position of its hash. The caller supplies the
// hash and the comparison. The distance rules out most entries with other hashes without a look at
// their records, and Remove can close a gap without hashing the entries behind it. The index is
// derived from its table and rebuilt from a snapshot, so its layout may depend on history: nothing
// ranges over it.
type Index struct {
	pages []*indexPage
	owned Owned
	mask  uint32
	n     uint32
}

// SlotBits is the number of bits of a slot. An entry has the distance in the bits above them; entry 0
// is empty. The distance far means far or more.
const (
	SlotBits = 26
	slotMask = 1<<SlotBits - 1
	far      = 1<<(32-SlotBits) - 1
)

const indexPageSize = 256

type indexPage struct {
	entry [indexPageSize]uint32
}

// New returns an empty index.
func New() Index {
	var x Index
	x.reset(indexPageSize)
	return x
}

// Len returns the number of slots in the index.
func (x *Index) Len() int { return int(x.n) }

func (x *Index) reset(size uint32) {
	x.pages = make([]*indexPage, size/indexPageSize)
	x.owned = make(Owned, (len(x.pages)+63)/64)
	for i := range x.pages {
		x.pages[i] = new(indexPage)
		x.owned.Add(uint32(i))
	}
	x.mask, x.n = size-1, 0
}

// Fork returns a copy that shares all pages. Afterwards both copy a page before they write to it.
func (x *Index) Fork() Index {
	clear(x.owned)
	return Index{owned: make(Owned, len(x.owned)), pages: append([]*indexPage(nil), x.pages...), mask: x.mask, n: x.n}
}

func (x *Index) at(i uint32) uint32 { return x.pages[i/indexPageSize].entry[i%indexPageSize] }

func (x *Index) set(i, entry uint32) {
	p := i / indexPageSize
	pg := x.pages[p]
	if !x.owned.Has(p) {
		clone := *pg
		pg = &clone
		x.pages[p] = pg
		x.owned.Add(p)
	}
	pg.entry[i%indexPageSize] = entry
}

// put sets the entry at i for a slot whose home position is home.
func (x *Index) put(i, home uint32, slot uint32) {
	x.set(i, min((i-home)&x.mask, far)<<SlotBits|slot)
}

// Probe iterates over the slots that may have a given hash.
type Probe struct {
	x    *Index
	at   uint32
	dist uint32
}

// Probe returns the slots that may have a hash.
func (x *Index) Probe(hash uint64) Probe { return Probe{x: x, at: uint32(hash) & x.mask} }

// Next returns the next slot, or 0 if there are no more.
func (p *Probe) Next() uint32 {
	for {
		e := p.x.at(p.at)
		if e == 0 {
			return 0
		}
		same := e>>SlotBits == min(p.dist, far)
		p.at, p.dist = (p.at+1)&p.x.mask, p.dist+1
		if same {
			return e & slotMask
		}
	}
}

// Find returns the slot for which same returns true, or 0.
func (x *Index) Find(hash uint64, same func(slot uint32) bool) uint32 {
	p := x.Probe(hash)
	for {
		if slot := p.Next(); slot == 0 || same(slot) {
			return slot
		}
	}
}

// Insert adds a slot that is below 1<<SlotBits and not in the index. hashOf returns the hash of a slot
// in the index; Insert calls it when the index grows.
func (x *Index) Insert(hash uint64, slot uint32, hashOf func(slot uint32) uint64) {
	if size := x.mask + 1; x.n >= size/4*3 {
		x.resize(size*2, hashOf)
	}
	home := uint32(hash) & x.mask
	i := home
	for x.at(i) != 0 {
		i = (i + 1) & x.mask
	}
	x.put(i, home, slot)
	x.n++
}

func (x *Index) resize(size uint32, hashOf func(slot uint32) uint64) {
	old, oldSize := x.pages, x.mask+1
	x.reset(size)
	for i := uint32(0); i < oldSize; i++ {
		if e := old[i/indexPageSize].entry[i%indexPageSize]; e != 0 {
			slot := e & slotMask
			x.Insert(hashOf(slot), slot, hashOf)
		}
	}
}

// Reserve gives an empty index the size that it would have after n inserts.
func (x *Index) Reserve(n int) {
	size := x.mask + 1
	for uint64(n) > uint64(size)/4*3 {
		size *= 2
	}
	x.reset(size)
}

// Remove removes a slot and closes the gap, without tombstones.
func (x *Index) Remove(hash uint64, slot uint32, hashOf func(slot uint32) uint64) {
	i := uint32(hash) & x.mask
	for x.at(i)&slotMask != slot {
		if x.at(i) == 0 {
			return
		}
		i = (i + 1) & x.mask
	}
	x.n--
	for j := i; ; {
		j = (j + 1) & x.mask
		e := x.at(j)
		if e == 0 {
			break
		}
		home := (j - e>>SlotBits) & x.mask
		if e>>SlotBits == far {
			home = uint32(hashOf(e&slotMask)) & x.mask
		}
		// An entry may move back only to a position where its own probe still finds it.
		if (j-home)&x.mask >= (j-i)&x.mask {
			x.put(i, home, e&slotMask)
			i = j
		}
	}
	x.set(i, 0)
}
