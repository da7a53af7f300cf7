package state

import (
	"bytes"
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"rmd/fsm/event"
	"rmd/internal/growth"
	"rmd/yarn"
)

// TestLocationsAgainstAMap compares the locations of two asks with maps. The asks name few hosts,
// and more than have no index. Forks and restored states must agree as well.
func TestLocationsAgainstAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := world(t)
		keys := []yarn.SchedulerKey{k1, {Priority: k1.Priority, AllocationID: 7}}
		want := []map[string]int64{{}, {}}
		for _, k := range keys {
			apply(t, s, ask(1, k, 2, 1))
		}
		check := func(s *State, want []map[string]int64) {
			t.Helper()
			for i, key := range keys {
				k := s.Asks.Get(s.Asks.Find(s.Apps.Get(s.Apps.Find(1)), key))
				found := map[string]int64{}
				for _, l := range s.Locations.Of(k) {
					found[s.Names.Text(l.Name)] = l.Count
				}
				if fmt.Sprint(found) != fmt.Sprint(want[i]) || int(k.Entries) != len(found)+1 {
					t.Fatalf("the ask has %d names, %v, not %v", k.Entries, found, want[i])
				}
				for n := range 200 {
					name := fmt.Sprint("h", n)
					slot := s.Location(k, s.Names.Find(name))
					if count := want[i][name]; (slot != 0) != (count > 0) || slot != 0 && s.Locations.Get(slot).Count != count {
						t.Fatalf("%s is found at %d, and is asked %d times", name, slot, count)
					}
				}
			}
			if err := s.Check(); err != nil {
				t.Fatal(err)
			}
		}
		for range rapid.IntRange(1, 6).Draw(t, "calls") {
			of := rapid.IntRange(0, 1).Draw(t, "ask")
			count := rapid.SampledFrom([]int64{1, 2, 0, 0}).Draw(t, "count")
			first, many := rapid.IntRange(0, 190).Draw(t, "first"), rapid.IntRange(1, 180).Draw(t, "names")
			before, had := s.Fork(), []map[string]int64{maps.Clone(want[0]), maps.Clone(want[1])}
			var events []event.Event
			for n := first; n < min(first+many, 200); n++ {
				name := fmt.Sprint("h", n)
				events = append(events, &event.AskChanged{App: 1, Key: keys[of], Name: name, Count: count})
				if want[of][name] = count; count == 0 {
					delete(want[of], name)
				}
			}
			apply(t, s, events...)
			check(s, want)
			check(before, had)
			again, err := decode(encode(s))
			if err != nil {
				t.Fatal(err)
			}
			check(again, want)
			if !bytes.Equal(encode(again), encode(s)) {
				t.Fatal("the restored state is written otherwise")
			}
		}
		for i, k := range keys {
			apply(t, s, ask(1, k, 0, 1))
			clear(want[i])
		}
		if s.Locations.Len() != 0 || s.Locations.Index.Len() != 0 {
			t.Fatalf("without asks there are %d locations, of which %d are looked up", s.Locations.Len(),
				s.Locations.Index.Len())
		}
	})
}

// TestManyRefusedHosts checks that the time to change a blacklist does not grow with the square of its
// names.
func TestManyRefusedHosts(t *testing.T) {
	s := forgettable(t)
	var names []string
	for i := range 1_000_000 {
		names = append(names, fmt.Sprint("h", i))
	}
	growth.InTime(t, "to refuse a million hosts and to accept them again", func() {
		apply(t, s, &event.BlacklistChanged{App: 1, Add: names}, &event.BlacklistChanged{App: 1, Remove: names})
	})
	if n := len(appAt(t, s, 1).Blacklist); n != 0 {
		t.Errorf("%d hosts are still refused", n)
	}
}
