package snapshot

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/internal/codec"
	"rmd/yarn"
)

var rewrite = flag.Bool("rewrite", false, "write golden files again")

func header(st *state.State) Header { return HeaderOf(st, 184_201, 7, 7<<32|12) }

func written(tb testing.TB, st *state.State) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := Write(&b, header(st), st); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// TestFormatFollowsTheLevel adds a section that the next feature level brings. Until the upgrade is
// final, snapshots are those of the build before, so that its replicas can read them.
func TestFormatFollowsTheLevel(t *testing.T) {
	next := state.Section{ID: 200, Name: "next", Since: event.Level + 1, Len: func(*state.State) int { return 0 },
		Each: func(*state.State, func(uint32) bool) {}, Code: func(*state.State, uint32, *codec.Coder) {}}
	now := state.Sections()
	later := append(slices.Clone(now), next)
	st := small(t)
	in := func(sections []state.Section) []byte {
		var b bytes.Buffer
		if err := write(&b, header(st), st, sections); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	if !bytes.Equal(in(now), in(later)) {
		t.Error("a build of the next level writes another snapshot before the level is final")
	}
	st.Meta.Level++
	raised := in(later)
	if h, _, err := Read(bytes.NewReader(raised)); !errors.Is(err, ErrFormat) {
		t.Errorf("after that, the build before reads one of format %d: %v", h.Format, err)
	}
	if info, _, err := read(bytes.NewReader(raised), later); err != nil || info.Format != event.Level+1 ||
		len(info.Sections) != len(later) {
		t.Errorf("the build of the next level reads its own: format %d, %d sections, %v", info.Format,
			len(info.Sections), err)
	}
	st.Meta.Level--
	if _, _, err := read(bytes.NewReader(in(now)), later); err != nil {
		t.Errorf("it reads one of the build before: %v", err)
	}
}

// TestGolden checks that this build reads and writes the same bytes as a release of its format.
func TestGolden(t *testing.T) {
	format := newest(state.Sections())
	st, golden := small(t), filepath.Join("testdata", fmt.Sprintf("small.format%d.snap", format))
	for _, s := range state.Sections() {
		if s.Len(st) == 0 {
			t.Errorf("the golden state has nothing in section %s", s.Name)
		}
	}
	got := written(t, st)
	if *rewrite {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	h, old, err := Read(bytes.NewReader(want))
	if err != nil {
		t.Fatalf("a snapshot of format %d is not readable any more: %v", format, err)
	}
	if h != header(st) {
		t.Errorf("header %+v, want %+v", h, header(st))
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the bytes have changed; differences: %v", Diff(old, st))
	}
}

func TestRoundTrip(t *testing.T) {
	st := small(t)
	first := written(t, st)
	if again := written(t, small(t)); !bytes.Equal(first, again) {
		t.Error("two states with one history have different snapshots")
	}
	_, back, err := Read(bytes.NewReader(first))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, written(t, back)) {
		t.Errorf("write∘read is not the identity: %v", Diff(st, back))
	}
	if Sum(st) != Sum(back) {
		t.Error("the total digests differ")
	}
	// The restored state and the original must apply further events alike.
	more := []event.Event{
		&event.ResponseRecorded{App: 1, Response: 2},
		&event.ContainerCompleted{Container: event.ContainerRef{App: 1, Attempt: 1, Number: 1}},
		&event.NodeRegistered{Node: 5, ID: yarn.NodeID{Host: "host-5", Port: 1}, Rack: "/r", Total: yarn.NewResource(1, 1)},
		&event.AskChanged{App: 1, Key: key, Name: yarn.Any, Count: 1, Size: yarn.NewResource(1, 1)},
	}
	apply(t, st, more...)
	apply(t, back, more...)
	if d := Diff(st, back); len(d) > 0 || st.Digest() != back.Digest() {
		t.Errorf("the restored state goes another way: %v", d)
	}
}

func TestEmptyState(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, HeaderOf(state.New(), 0, 0, 0), state.New()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Read(&b); err != nil {
		t.Fatal(err)
	}
}

func TestVerify(t *testing.T) {
	st := large(t, 3000)
	b := written(t, st)
	info, err := Verify(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if info.Bytes != int64(len(b)) || info.Digest != fmt.Sprintf("%016x", st.Digest()) || info.Header != header(st) {
		t.Errorf("info %+v of %d bytes", info, len(b))
	}
	found := false
	for _, s := range info.Sections {
		if s.Name == "containers" {
			found = s.Records == 3000 && s.Bytes > 3*chunkBytes/2
		}
	}
	if !found {
		t.Errorf("sections %+v: 3000 containers in several chunks expected", info.Sections)
	}
}

// mustRefuse checks that reading damaged bytes returns a DamageError.
func mustRefuse(t *testing.T, b []byte, what string, at int) {
	t.Helper()
	_, st, err := Read(bytes.NewReader(b))
	var d *DamageError
	switch {
	case err == nil:
		t.Fatalf("%s at byte %d is not noticed", what, at)
	case st != nil:
		t.Fatalf("%s at byte %d: a state comes with the error", what, at)
	case !errors.As(err, &d) || d.Section == "":
		t.Fatalf("%s at byte %d: %v does not name the place", what, at, err)
	}
}

func TestEveryFlippedByteIsRefused(t *testing.T) {
	good := written(t, small(t))
	for i := range good {
		for _, flip := range []byte{0x01, 0x80, 0xff} {
			bad := bytes.Clone(good)
			bad[i] ^= flip
			mustRefuse(t, bad, "a flip", i)
		}
	}
}

func TestEveryTruncationIsRefused(t *testing.T) {
	good := written(t, small(t))
	for n := range good {
		mustRefuse(t, good[:n], "truncation", n)
	}
	mustRefuse(t, append(bytes.Clone(good), 0), "a byte more", len(good))
}

// TestOtherFilesAreNoSnapshots checks that a file that does not begin as a snapshot is not called
// damaged, however short it is.
func TestOtherFilesAreNoSnapshots(t *testing.T) {
	for text, want := range map[string]error{
		"rm1\n": ErrMagic, "RMX": ErrMagic, "<configuration/>": ErrMagic, "RMD": ErrDamaged, magic: ErrDamaged,
		"": ErrDamaged,
	} {
		if _, _, err := Read(strings.NewReader(text)); !errors.Is(err, want) {
			t.Errorf("Read of %q: %v, want %v", text, err, want)
		}
	}
}

func TestDamageErrorPosition(t *testing.T) {
	b := written(t, small(t))
	at := bytes.Index(b, []byte("host-2"))
	b[at] ^= 1
	_, _, err := Read(bytes.NewReader(b))
	if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "section names at offset ") {
		t.Errorf("Read with a damaged name: %v, want %v with the offset of the section names",
			err, ErrDamaged)
	}
}

func TestNewerIsRefused(t *testing.T) {
	b := written(t, small(t))
	b[len(magic)] = newest(state.Sections()) + 1
	if _, _, err := Read(bytes.NewReader(b)); !errors.Is(err, ErrFormat) {
		t.Errorf("newer format: %v", err)
	}
	st := small(t)
	st.Meta.Level = event.Level + 1
	h, _, err := Read(bytes.NewReader(written(t, st)))
	if err != nil || h.Within(event.Level+1) != nil {
		t.Errorf("a program of its level: %v, %v", err, h.Within(event.Level+1))
	}
	if err := h.Within(event.Level); !errors.Is(err, ErrFormat) {
		t.Errorf("newer feature level: %v", err)
	}
}

// TestInconsistentIsRefused checks that Read rejects a state whose sums do not match its records,
// although all checksums are right.
func TestInconsistentIsRefused(t *testing.T) {
	st := small(t)
	st.Meta.UsableNodes++
	if _, _, err := Read(bytes.NewReader(written(t, st))); !errors.Is(err, ErrInconsistent) {
		t.Errorf("Read of a state with a wrong sum: %v, want %v", err, ErrInconsistent)
	}
}

func TestDiff(t *testing.T) {
	a, b := small(t), small(t)
	if d := Diff(a, b); len(d) != 0 {
		t.Fatalf("equal states differ: %v", d)
	}
	apply(t, b, &event.ContainerLaunched{Container: event.ContainerRef{App: 1, Attempt: 1, Number: 3}})
	apply(t, a, &event.NodeRegistered{Node: 5, ID: yarn.NodeID{Host: "host-5", Port: 1}, Rack: "/r",
		Total: yarn.NewResource(1, 1)})
	d := strings.Join(Diff(a, b), "\n")
	for _, want := range []string{"nodes slot 5: only in the first", "containers slot 3:", "Launched:true"} {
		if !strings.Contains(d, want) {
			t.Errorf("%q is missing in:\n%s", want, d)
		}
	}
	if Sum(a) == Sum(b) {
		t.Error("different states have one total digest")
	}
}

func FuzzRead(f *testing.F) {
	f.Add(written(f, small(f)))
	f.Add(written(f, began(f, 1)))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, st, err := Read(bytes.NewReader(b))
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := Write(&again, h, st); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b, again.Bytes()) {
			t.Fatal("bytes that are not those of their state were accepted")
		}
	})
}
