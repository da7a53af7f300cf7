package state

import (
	"bytes"
	"fmt"
	"testing"

	"rmd/fsm/event"
	"rmd/fsm/state/length"
	"rmd/yarn"
)

// runs lets application 1 run a container for the given time and with the given exit status.
func runs(t failer, s *State, millis int64, exit int32) {
	n := s.Meta.NextNumber(s.Apps.Get(s.Apps.Find(1)))
	a := s.Apps.Get(s.Apps.Find(1))
	apply(t, s, ask(1, k1, 1, 1), allocated(1, n, k1, 1), &event.ResponseRecorded{App: 1, Response: a.Response + 1},
		&event.TimeAdvanced{NowMillis: s.Meta.NowMillis + millis},
		&event.ContainerCompleted{Container: ref(1, n), ExitStatus: exit},
		&event.ResponseRecorded{App: 1, Response: a.Response + 2}, &event.ResponseRecorded{App: 1, Response: a.Response + 3})
}

// TestLengths checks that the state records how long containers ran for the name, user and queue of
// their application, also in snapshots and in the digest, and that recent lengths count more.
func TestLengths(t *testing.T) {
	s := world(t)
	runs(t, s, 5000, yarn.ExitPreempted)
	if s.LengthsOf(s.Apps.Get(s.Apps.Find(1))) != nil {
		t.Fatal("the length of a preempted container is kept")
	}
	for range 10 {
		runs(t, s, 5000, yarn.ExitSuccess)
	}
	l := s.LengthsOf(s.Apps.Get(s.Apps.Find(1)))
	if s.Lengths.Len() != 4 || l == nil || l.Total() != 10 || l.Counts[length.Bucket(5000)] != 10 ||
		l.Key != s.lengthKeys(s.Apps.Get(s.Apps.Find(1)))[3] {
		t.Fatalf("%d histories, %+v", s.Lengths.Len(), l)
	}
	if other := s.LengthsOf(s.Apps.Get(s.Apps.Find(2))); other == nil || other.Total() != 10 || other == l {
		t.Errorf("another application is judged by %+v", other)
	}
	back, err := decode(encode(s))
	if err != nil || !bytes.Equal(encode(back), encode(s)) {
		t.Fatalf("from a snapshot: %v", err)
	}
	f := s.Fork()
	runs(t, s, 5000, yarn.ExitSuccess)
	runs(t, back, 5000, yarn.ExitSuccess)
	runs(t, f, 90_000, yarn.ExitSuccess)
	if s.Digest() != back.Digest() || s.Digest() == f.Digest() {
		t.Error("the digest does not say what is kept")
	}
	if s.LengthsOf(s.Apps.Get(s.Apps.Find(1))).Counts[length.Bucket(90_000)] != 0 {
		t.Error("a fork has written into its origin")
	}
	for range length.Most {
		runs(t, s, 90_000, yarn.ExitSuccess)
	}
	runs(t, s, 90_000, yarn.ExitSuccess)
	if l := s.LengthsOf(s.Apps.Get(s.Apps.Find(1))); l.Counts[length.Bucket(90_000)] != length.Most/2+1 ||
		l.Counts[length.Bucket(5000)] != 5 {
		t.Errorf("old lengths count as much as new ones: %+v", l)
	}
}

// TestLengthsAreBounded checks that new histories replace those that were unused for longest, and
// not one that is in constant use.
func TestLengthsAreBounded(t *testing.T) {
	const most = 4096
	s := world(t)
	a := *s.Apps.Get(s.Apps.Find(1))
	c := Container{GrantedIn: 1}
	for i := range 20_000 {
		a.SetDetails(AppDetails{Name: fmt.Sprintf("job %c%c%c", 'a'+i%26, 'a'+i/26%26, 'a'+i/676)})
		s.Meta.Completed++
		s.recordLength(&a, &c)
	}
	if n := s.Lengths.Len(); n > most || n < most*9/10 {
		t.Errorf("%d histories", n)
	}
	for _, key := range s.lengthKeys(&a) {
		if s.Lengths.At(key) == 0 {
			t.Errorf("history %x is not kept", key)
		}
	}
	alike := func(name string) uint64 { a.SetDetails(AppDetails{Name: name}); return s.Alike(&a) }
	if alike("etl 2026-11-24") != alike("etl 2026-11-25") || alike("etl") == alike("web") {
		t.Error("the digits of a name count, or nothing else")
	}
}
