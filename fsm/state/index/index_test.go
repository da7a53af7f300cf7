package index

import (
	"maps"
	"testing"

	"pgregory.net/rapid"
)

// indexed is one fork of an index with its oracle, the key of every slot. Keys have few hashes, so
// that probes are long.
type indexed struct {
	x    Index
	want map[uint32]uint64 // slot to key
}

const fewHashes = 37

func (k *indexed) hashOf(slot uint32) uint64 { return k.want[slot] % fewHashes * 251 }

func (k *indexed) find(key uint64) uint32 {
	return k.x.Find(key%fewHashes*251, func(slot uint32) bool { return k.want[slot] == key })
}

func TestIndexAgainstAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := []*indexed{{New(), map[uint32]uint64{}}}
		next := uint32(1)
		pick := func(t *rapid.T) *indexed { return all[rapid.IntRange(0, len(all)-1).Draw(t, "version")] }
		t.Repeat(map[string]func(*rapid.T){
			"insert": func(t *rapid.T) {
				k := pick(t)
				for range rapid.IntRange(1, 60).Draw(t, "how many") {
					slot := next
					next++
					k.want[slot] = uint64(slot) * 7
					k.x.Insert(k.hashOf(slot), slot, k.hashOf)
				}
			},
			"remove": func(t *rapid.T) {
				k := pick(t)
				for range rapid.IntRange(1, 40).Draw(t, "how many") {
					slot := uint32(rapid.Uint32Range(1, uint32(next)).Draw(t, "slot"))
					if _, ok := k.want[slot]; !ok {
						continue
					}
					k.x.Remove(k.hashOf(slot), slot, k.hashOf)
					delete(k.want, slot)
				}
			},
			"fork": func(t *rapid.T) {
				if len(all) > 4 {
					t.Skip("enough")
				}
				k := pick(t)
				all = append(all, &indexed{k.x.Fork(), maps.Clone(k.want)})
			},
			"": func(t *rapid.T) {
				for _, k := range all {
					if int(k.x.n) != len(k.want) {
						t.Fatalf("%d slots, want %d", k.x.n, len(k.want))
					}
					for slot := range next + 3 {
						key := uint64(slot) * 7
						want := uint32(0)
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
	x := New()
	hash := func(slot uint32) uint64 { return uint64(slot) * 0x9e3779b97f4a7c15 >> 20 }
	const n = 100_000
	for slot := uint32(1); slot <= n; slot++ {
		x.Insert(hash(slot), slot, hash)
	}
	f := x.Fork()
	for slot := uint32(1); slot <= n; slot += 2 {
		f.Remove(hash(slot), slot, hash)
	}
	for slot := uint32(1); slot <= n; slot++ {
		same := func(s uint32) bool { return s == slot }
		if x.Find(hash(slot), same) != slot {
			t.Fatalf("slot %d is lost", slot)
		}
		if got := f.Find(hash(slot), same); (got == slot) != (slot%2 == 0) {
			t.Fatalf("slot %d is found as %d in the fork", slot, got)
		}
	}
	if size := x.mask + 1; x.n*4 > size*3 || size > n*3 {
		t.Errorf("%d slots in an index of %d", x.n, size)
	}
	x.Remove(hash(n+1), n+1, hash) // not in the index: does nothing
}

// TestIndexFar places slots further from home than an entry can record, closes gaps among them, and
// wraps around the end.
func TestIndexFar(t *testing.T) {
	const n = 3 * far
	home := func(slot uint32) uint64 { return uint64(indexPageSize - 40 + slot%2) } // of the smallest index
	x := New()
	for slot := uint32(1); slot <= n; slot++ {
		x.Insert(home(slot), slot, home)
	}
	gone := map[uint32]bool{}
	for i := uint32(0); i < n; i++ {
		slot := (i*29)%n + 1
		x.Remove(home(slot), slot, home)
		gone[slot] = true
		for s := uint32(1); s <= n; s++ {
			if got := x.Find(home(s), func(at uint32) bool { return at == s }); (got == s) == gone[s] {
				t.Fatalf("slot %d is found as %d with %d gone", s, got, len(gone))
			}
		}
	}
	if x.n != 0 {
		t.Errorf("%d slots are left", x.n)
	}
}
