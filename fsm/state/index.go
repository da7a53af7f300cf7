package state

// index finds slots by hash: open addressing in copy-on-write pages. It holds
// slots only; whoever asks brings the hash and the comparison. It is derived
// from its table and rebuilt when a snapshot is restored, so its layout may
// depend on history without harm: nothing ever ranges over it.
type index struct {
	owner *owner
	pages []*indexPage
	mask  uint32
	n     uint32
}

const indexPageSize = 256

type indexPage struct {
	owner *owner
	slot  [indexPageSize]uint32
}

func newIndex() index {
	x := index{owner: new(owner)}
	x.reset(indexPageSize)
	return x
}

func (x *index) reset(size uint32) {
	x.pages = make([]*indexPage, size/indexPageSize)
	for i := range x.pages {
		x.pages[i] = &indexPage{owner: x.owner}
	}
	x.mask, x.n = size-1, 0
}

func (x *index) fork() index {
	x.owner = new(owner)
	return index{owner: new(owner), pages: append([]*indexPage(nil), x.pages...), mask: x.mask, n: x.n}
}

func (x *index) at(i uint32) uint32 { return x.pages[i/indexPageSize].slot[i%indexPageSize] }

func (x *index) set(i, slot uint32) {
	pg := x.pages[i/indexPageSize]
	if pg.owner != x.owner {
		clone := *pg
		clone.owner = x.owner
		pg = &clone
		x.pages[i/indexPageSize] = pg
	}
	pg.slot[i%indexPageSize] = slot
}

// find returns the slot for which same holds, or 0.
func (x *index) find(hash uint64, same func(slot uint32) bool) uint32 {
	for i := uint32(hash) & x.mask; ; i = (i + 1) & x.mask {
		s := x.at(i)
		if s == 0 || same(s) {
			return s
		}
	}
}

// insert adds a slot that is not in the index yet. hashOf gives the hash of a
// slot already there, for when the index must grow.
func (x *index) insert(hash uint64, slot uint32, hashOf func(slot uint32) uint64) {
	if size := x.mask + 1; x.n >= size/4*3 {
		x.resize(size*2, hashOf)
	}
	i := uint32(hash) & x.mask
	for x.at(i) != 0 {
		i = (i + 1) & x.mask
	}
	x.set(i, slot)
	x.n++
}

func (x *index) resize(size uint32, hashOf func(slot uint32) uint64) {
	old, oldSize := x.pages, x.mask+1
	x.reset(size)
	for i := uint32(0); i < oldSize; i++ {
		if s := old[i/indexPageSize].slot[i%indexPageSize]; s != 0 {
			x.insert(hashOf(s), s, hashOf)
		}
	}
}

// remove takes a slot out and closes the gap (no tombstones).
func (x *index) remove(hash uint64, slot uint32, hashOf func(slot uint32) uint64) {
	i := uint32(hash) & x.mask
	for x.at(i) != slot {
		if x.at(i) == 0 {
			return
		}
		i = (i + 1) & x.mask
	}
	x.n--
	for j := i; ; {
		j = (j + 1) & x.mask
		s := x.at(j)
		if s == 0 {
			break
		}
		// A slot may move back only to where its own probe would still meet it.
		if home := uint32(hashOf(s)) & x.mask; (j-home)&x.mask >= (j-i)&x.mask {
			x.set(i, s)
			i = j
		}
	}
	x.set(i, 0)
}

// hash64 spreads a number over 64 bits (the finalizer of SplitMix64).
func hash64(v uint64) uint64 {
	v += 0x9e3779b97f4a7c15
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}

// hashString is FNV-1a, spread.
func hashString(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return hash64(h)
}
