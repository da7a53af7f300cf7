package state

import (
	"maps"
	"testing"

	"pgregory.net/rapid"
)

// indexed is one fork of an index with its oracle, the key of every slot. Keys have few hashes, so
// that probes are long.
type indexed struct {
	x    index[NameSlot]
	want map[NameSlot]uint64 // slot to key
}

const fewHashes = 37

func (k *indexed) hashOf(slot NameSlot) uint64 { return k.want[slot] % fewHashes * 251 }

func (k *indexed) find(key uint64) NameSlot {
	return k.x.find(key%fewHashes*251, func(slot NameSlot) bool { return k.want[slot] == key })
}

func TestIndexAgainstAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := []*indexed{{newIndex[NameSlot](), map[NameSlot]uint64{}}}
		next := NameSlot(1)
		pick := func(t *rapid.T) *indexed { return all[rapid.IntRange(0, len(all)-1).Draw(t, "version")] }
		t.Repeat(map[string]func(*rapid.T){
			"insert": func(t *rapid.T) {
				k := pick(t)
				for range rapid.IntRange(1, 60).Draw(t, "how many") {
					slot := next
					next++
					k.want[slot] = uint64(slot) * 7
					k.x.insert(k.hashOf(slot), slot, k.hashOf)
				}
			},
			"remove": func(t *rapid.T) {
				k := pick(t)
				for range rapid.IntRange(1, 40).Draw(t, "how many") {
					slot := NameSlot(rapid.Uint32Range(1, uint32(next)).Draw(t, "slot"))
					if _, ok := k.want[slot]; !ok {
						continue
					}
					k.x.remove(k.hashOf(slot), slot, k.hashOf)
					delete(k.want, slot)
				}
			},
			"fork": func(t *rapid.T) {
				if len(all) > 4 {
					t.Skip("enough")
				}
				k := pick(t)
				all = append(all, &indexed{k.x.fork(), maps.Clone(k.want)})
			},
			"": func(t *rapid.T) {
				for _, k := range all {
					if int(k.x.n) != len(k.want) {
						t.Fatalf("%d slots, want %d", k.x.n, len(k.want))
					}
					for slot := range next + 3 {
						key := uint64(slot) * 7
						want := NameSlot(0)
						if _, ok := k.want[slot]; ok && slot != 0 {
							want = slot
						}
						if got := k.find(key); got != want {
							t.Fatalf("key %d is found at slot %d, want %d", key, got, want)
						}
					}
				}
			},
		})
	})
}

func TestIndexGrows(t *testing.T) {
	x := newIndex[NameSlot]()
	hash := func(slot NameSlot) uint64 { return hash64(uint64(slot)) }
	const n = 100_000
	for slot := NameSlot(1); slot <= n; slot++ {
		x.insert(hash(slot), slot, hash)
	}
	f := x.fork()
	for slot := NameSlot(1); slot <= n; slot += 2 {
		f.remove(hash(slot), slot, hash)
	}
	for slot := NameSlot(1); slot <= n; slot++ {
		same := func(s NameSlot) bool { return s == slot }
		if x.find(hash(slot), same) != slot {
			t.Fatalf("slot %d is lost", slot)
		}
		if got := f.find(hash(slot), same); (got == slot) != (slot%2 == 0) {
			t.Fatalf("slot %d is found as %d in the fork", slot, got)
		}
	}
	if size := x.mask + 1; x.n*4 > size*3 || size > n*3 {
		t.Errorf("%d slots in an index of %d", x.n, size)
	}
	x.remove(hash(n+1), n+1, hash) // not in the index: does nothing
}

// TestIndexFar places slots further from home than an entry can record, closes gaps among them, and
// wraps around the end.
func TestIndexFar(t *testing.T) {
	const n = 3 * far
	home := func(slot NameSlot) uint64 { return uint64(indexPageSize - 40 + slot%2) } // of the smallest index
	x := newIndex[NameSlot]()
	for slot := NameSlot(1); slot <= n; slot++ {
		x.insert(home(slot), slot, home)
	}
	gone := map[NameSlot]bool{}
	for i := NameSlot(0); i < n; i++ {
		slot := (i*29)%n + 1
		x.remove(home(slot), slot, home)
		gone[slot] = true
		for s := NameSlot(1); s <= n; s++ {
			if got := x.find(home(s), func(at NameSlot) bool { return at == s }); (got == s) == gone[s] {
				t.Fatalf("slot %d is found as %d with %d gone", s, got, len(gone))
			}
		}
	}
	if x.n != 0 {
		t.Errorf("%d slots are left", x.n)
	}
}
