package state

// index finds slots by hash. It is a hash table with open addressing in copy-on-write pages. An
// entry has a slot and its distance from the home position of its hash. The caller supplies the
// hash and the comparison. The distance rules out most entries with other hashes without a look at
// their records, and remove can close a gap without hashing the entries behind it. The index is
// derived from its table and rebuilt from a snapshot, so its layout may depend on history: nothing
// ranges over it.
type index[S slot] struct {
	pages []*indexPage
	owned owned
	mask  uint32
	n     uint32
}

// An entry has the distance in the bits above the slot; entry 0 is empty. The distance far means
// far or more.
const (
	slotBits = 26
	slotMask = 1<<slotBits - 1
	far      = 1<<(32-slotBits) - 1
)

const indexPageSize = 256

type indexPage struct {
	entry [indexPageSize]uint32
}

func newIndex[S slot]() index[S] {
	var x index[S]
	x.reset(indexPageSize)
	return x
}

func (x *index[S]) reset(size uint32) {
	x.pages = make([]*indexPage, size/indexPageSize)
	x.owned = make(owned, (len(x.pages)+63)/64)
	for i := range x.pages {
		x.pages[i] = new(indexPage)
		x.owned.add(uint32(i))
	}
	x.mask, x.n = size-1, 0
}

func (x *index[S]) fork() index[S] {
	clear(x.owned)
	return index[S]{owned: make(owned, len(x.owned)), pages: append([]*indexPage(nil), x.pages...), mask: x.mask, n: x.n}
}

func (x *index[S]) at(i uint32) uint32 { return x.pages[i/indexPageSize].entry[i%indexPageSize] }

func (x *index[S]) set(i, entry uint32) {
	p := i / indexPageSize
	pg := x.pages[p]
	if !x.owned.has(p) {
		clone := *pg
		pg = &clone
		x.pages[p] = pg
		x.owned.add(p)
	}
	pg.entry[i%indexPageSize] = entry
}

// put sets the entry at i for a slot whose home position is home.
func (x *index[S]) put(i, home uint32, slot S) {
	x.set(i, min((i-home)&x.mask, far)<<slotBits|uint32(slot))
}

// probe iterates over the slots that may have a given hash.
type probe[S slot] struct {
	x    *index[S]
	at   uint32
	dist uint32
}

func (x *index[S]) probe(hash uint64) probe[S] { return probe[S]{x: x, at: uint32(hash) & x.mask} }

// next returns the next slot, or 0 if there are no more.
func (p *probe[S]) next() S {
	for {
		e := p.x.at(p.at)
		if e == 0 {
			return 0
		}
		same := e>>slotBits == min(p.dist, far)
		p.at, p.dist = (p.at+1)&p.x.mask, p.dist+1
		if same {
			return S(e & slotMask)
		}
	}
}

// find returns the slot for which same returns true, or 0.
func (x *index[S]) find(hash uint64, same func(slot S) bool) S {
	p := x.probe(hash)
	for {
		if slot := p.next(); slot == 0 || same(slot) {
			return slot
		}
	}
}

// insert adds a slot that is below MaxSlots and not in the index. hashOf returns the hash of a slot
// in the index; insert calls it when the index grows.
func (x *index[S]) insert(hash uint64, slot S, hashOf func(slot S) uint64) {
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

func (x *index[S]) resize(size uint32, hashOf func(slot S) uint64) {
	old, oldSize := x.pages, x.mask+1
	x.reset(size)
	for i := uint32(0); i < oldSize; i++ {
		if e := old[i/indexPageSize].entry[i%indexPageSize]; e != 0 {
			slot := S(e & slotMask)
			x.insert(hashOf(slot), slot, hashOf)
		}
	}
}

// reserve gives an empty index the size that it would have after n inserts.
func (x *index[S]) reserve(n int) {
	size := x.mask + 1
	for uint64(n) > uint64(size)/4*3 {
		size *= 2
	}
	x.reset(size)
}

// remove removes a slot and closes the gap, without tombstones.
func (x *index[S]) remove(hash uint64, slot S, hashOf func(slot S) uint64) {
	i := uint32(hash) & x.mask
	for S(x.at(i)&slotMask) != slot {
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
		home := (j - e>>slotBits) & x.mask
		if e>>slotBits == far {
			home = uint32(hashOf(S(e&slotMask))) & x.mask
		}
		// An entry may move back only to a position where its own probe still finds it.
		if (j-home)&x.mask >= (j-i)&x.mask {
			x.put(i, home, S(e&slotMask))
			i = j
		}
	}
	x.set(i, 0)
}

// hash64 mixes the bits of a number (the finalizer of SplitMix64).
func hash64(v uint64) uint64 {
	v += 0x9e3779b97f4a7c15
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}

// hashString returns the FNV-1a hash of s, mixed by hash64.
func hashString(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return hash64(h)
}
