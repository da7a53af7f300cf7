package table

import (
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"
)

// The records of the tests.
type (
	nameSlot uint32
	name     struct{ Text string }

	numberSlot uint32
	number     struct{ Number uint64 }
)

// version is one fork of a table with its oracle.
type version struct {
	table Table[nameSlot, name]
	want  map[nameSlot]string
}

func (v *version) check(t *rapid.T) {
	t.Helper()
	if v.table.Len() != len(v.want) {
		t.Fatalf("%d records, want %d", v.table.Len(), len(v.want))
	}
	last := nameSlot(0)
	seen := 0
	v.table.Each(func(slot nameSlot, r *name) bool {
		if slot <= last || v.want[slot] != r.Text {
			t.Fatalf("slot %d after %d holds %q, want %q", slot, last, r.Text, v.want[slot])
		}
		last = slot
		seen++
		return true
	})
	if seen != len(v.want) || last >= max(v.table.Cap(), 1) {
		t.Fatalf("Each gave %d of %d records, the last at %d of %d", seen, len(v.want), last, v.table.Cap())
	}
	for slot := nameSlot(0); slot < v.table.Cap()+3; slot++ {
		if _, ok := v.want[slot]; v.table.Has(slot) != ok {
			t.Fatalf("Has(%d) is %v", slot, !ok)
		}
	}
}

func (v *version) lowestFree() nameSlot {
	for slot := nameSlot(1); ; slot++ {
		if _, ok := v.want[slot]; !ok {
			return slot
		}
	}
}

func (v *version) alloc(t *rapid.T, text string) {
	t.Helper()
	want := v.lowestFree()
	slot, r := Alloc(&v.table)
	if slot != want || r.Text != "" {
		t.Fatalf("alloc gave slot %d with %q, the lowest free one is %d", slot, r.Text, want)
	}
	r.Text = text
	v.want[slot] = text
}

// TestTableAgainstAMap compares forks of a table with copies of a map.
func TestTableAgainstAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := []*version{{Table[nameSlot, name]{}, map[nameSlot]string{}}}
		n := 0
		pick := func(t *rapid.T) *version { return all[rapid.IntRange(0, len(all)-1).Draw(t, "version")] }
		used := func(t *rapid.T, v *version) nameSlot {
			var slots []nameSlot
			v.table.Each(func(slot nameSlot, _ *name) bool { slots = append(slots, slot); return true })
			if len(slots) == 0 {
				t.Skip("empty")
			}
			return rapid.SampledFrom(slots).Draw(t, "slot")
		}
		text := func() string { n++; return fmt.Sprint(n) }
		t.Repeat(map[string]func(*rapid.T){
			"alloc": func(t *rapid.T) {
				v := pick(t)
				for range rapid.IntRange(1, 90).Draw(t, "how many") {
					v.alloc(t, text())
				}
			},
			"release": func(t *rapid.T) {
				v := pick(t)
				for range rapid.IntRange(1, 40).Draw(t, "how many") {
					slot := used(t, v)
					Release(&v.table, slot)
					delete(v.want, slot)
				}
			},
			"write": func(t *rapid.T) {
				v := pick(t)
				slot := used(t, v)
				v.want[slot] = text()
				v.table.Mut(slot).Text = v.want[slot]
			},
			"place": func(t *rapid.T) {
				v := pick(t)
				slot := nameSlot(rapid.Uint32Range(1, 2000).Draw(t, "slot"))
				if v.table.Has(slot) {
					t.Skip("taken")
				}
				v.want[slot] = text()
				Place(&v.table, slot).Text = v.want[slot]
			},
			"fork": func(t *rapid.T) {
				if len(all) > 6 {
					t.Skip("enough")
				}
				v := pick(t)
				all = append(all, &version{Fork(&v.table), maps.Clone(v.want)})
			},
			"": func(t *rapid.T) {
				for _, v := range all {
					v.check(t)
				}
			},
		})
	})
}

func TestEachStops(t *testing.T) {
	tab := Table[nameSlot, name]{}
	for range 200 {
		Alloc(&tab)
	}
	n := 0
	tab.Each(func(nameSlot, *name) bool { n++; return n < 70 })
	if n != 70 {
		t.Errorf("Each went on to %d", n)
	}
}

// TestSparseTableMemory checks that a single slot far from all others needs few pages. A table
// after a peak, or damaged bytes, may name one.
func TestSparseTableMemory(t *testing.T) {
	tab := Table[numberSlot, number]{}
	Place(&tab, MaxSlots-1).Number = 7
	distinct := map[*page[number]]bool{}
	for _, p := range tab.pages {
		distinct[p] = true
	}
	if len(distinct) > 3 {
		t.Errorf("%d pages were made for one record", len(distinct))
	}
	if slot, _ := Alloc(&tab); slot != 1 || tab.Get(MaxSlots-1).Number != 7 || tab.Len() != 2 {
		t.Errorf("the next slot is %d", slot)
	}
	for slot := numberSlot(60); slot < 70; slot++ {
		Place(&tab, slot).Number = uint64(slot)
	}
	if tab.Has(130) || tab.Get(65).Number != 65 {
		t.Error("pages skipped share what is written to one of them")
	}
}
