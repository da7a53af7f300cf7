package history

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// ticker returns a clock that advances by one with each reading.
func ticker() func() int64 {
	var ns int64
	return func() int64 { ns++; return ns }
}

// TestRoundTrip checks that one line of each kind is read as it was written.
func TestRoundTrip(t *testing.T) {
	lines := []Line{
		&Op{Process: 17, Type: Invoke, F: Submit, In: &Value{Name: "job", Key: "c1/4"}, Client: "c1", NS: 1},
		&Op{Process: 17, Type: OK, F: Allocate, Out: &Value{Response: 3,
			Granted:   []Grant{{Container: "container_1_0001_01_000002", Node: "n1:1"}},
			Completed: []Completion{{Container: "container_1_0001_01_000001", Exit: -100}},
			Members:   []Member{{ID: "r1", Voter: true}}}, NS: 2},
		&Replica{ID: "r1", Incarnation: 2, Kind: Apply, Term: 4, Index: 88, Digest: 1<<64 - 1, NS: 3},
		&Order{Node: "n1:1", Kind: StartContainer, Container: "container_1_0001_01_000002", NS: 4},
		&Fault{Kind: "crash", When: Begin, ID: 7, On: []string{"r1"}, NS: 5},
		&Mark{Name: Recovery, NS: 6},
		&Entry{Kind: Command, Index: 88, Term: 4, Data: []byte{'R', 'B', 0, 255}, NS: 7},
		&Dump{Replica: "r1", Index: 88, Digest: 5, Fields: []Field{{"queue/root/used", "1024MB 1vc"}}, NS: 8},
	}
	var buf bytes.Buffer
	w := NewWriter(&buf)
	for _, l := range lines {
		w.Add(l)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if first, _, _ := strings.Cut(buf.String(),
		"\n"); first != `{"p":17,"t":"invoke","f":"submit","in":{"key":"c1/4","name":"job"},"c":"c1","ns":1}` {
		t.Errorf("an operation is written as %s", first)
	}
	var got collect
	n, torn, err := Read(&buf, &got)
	if err != nil || n != len(lines) || torn != 0 {
		t.Fatalf("%d lines, %d torn, %v", n, torn, err)
	}
	for i := range lines {
		if !reflect.DeepEqual(lines[i], got[i]) {
			t.Errorf("line %d: %+v, want %+v", i, got[i], lines[i])
		}
	}
}

type collect []Line

func (c *collect) Add(l Line) { *c = append(*c, l) }

// TestTornHistory checks that a history that ends in the middle of a line can be read, and that
// Open continues such a file in a new line.
func TestTornHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	whole := `{"mark":"seed","n":5,"ns":1}` + "\n"
	if err := os.WriteFile(path, []byte(whole+`{"mark":"cal`), 0o644); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{1, 2} {
		h, err := ReadFiles(path)
		if err != nil || len(h.Marks) != want || h.Torn != 1 {
			t.Fatalf("reading %d: %+v, %v", i, h, err)
		}
		w, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		w.Add(&Mark{Name: Over, NS: int64(2 + i)})
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNotLine(t *testing.T) {
	for _, text := range []string{`{"other":1}`, `{"p":"seventeen"}`, `[]`, `7`} {
		if _, err := Decode([]byte(text)); !errors.Is(err, ErrNotLine) {
			t.Errorf("Decode(%s): %v, want %v", text, err, ErrNotLine)
		}
	}
	if _, _, err := Read(strings.NewReader(`{"other":1}`+"\n"+`{"mark":"calm","ns":1}`+"\n"),
		New()); !errors.Is(err, ErrNotLine) {
		t.Errorf("a line of something else in the middle: %v", err)
	}
	if l, err := Decode([]byte(`{"ns":3,"t":"ok","f":"kill","p":4}`)); err != nil || l.(*Op).Process != 4 {
		t.Errorf("keys in another order: %+v, %v", l, err)
	}
}

// TestJoin checks that ReadFiles sorts the lines of several files by time.
func TestJoin(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for i, text := range []string{
		`{"r":"r1","k":"apply","i":2,"ns":20}` + "\n" + `{"log":"command","i":9,"term":1}` + "\n" + `{"mark":"over","ns":50}`,
		`{"r":"r2","k":"apply","i":1,"ns":10}` + "\n" + `{"log":"command","i":8,"term":1}` + "\n" +
			`{"r":"r2","k":"apply","i":2,"ns":30}`,
	} {
		path := filepath.Join(dir, string(rune('a'+i)))
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	h, err := ReadFiles(paths...)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Replicas) != 3 || h.Replicas[0].ID != "r2" || h.Replicas[1].ID != "r1" || h.Entries[0].Index != 8 ||
		h.End() != 50 {
		t.Errorf("%d replica events, %d entries, end %d, want 3 from r2, r1, the first entry 8, end 50: %+v",
			len(h.Replicas), len(h.Entries), h.End(), h)
	}
	if _, err := ReadFiles(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestRecorder checks that a client continues as another process after an unknown outcome, and that
// Calls joins calls and returns.
func TestRecorder(t *testing.T) {
	h := New()
	r := NewRecorder(h, ticker())
	a, b := r.Client("a"), r.Client("b")
	a.Invoke(Submit, Value{Name: "one"})
	b.Invoke(ReadApp, Value{App: "x"})
	b.Fail(NotFound)
	a.Info("timeout")
	a.Invoke(Submit, Value{Name: "one"})
	a.OK(Value{App: "x"})
	b.Invoke(Kill, Value{App: "x"})
	r.Mark(Over)
	calls := h.Calls()
	if len(calls) != 4 {
		t.Fatalf("%d calls", len(calls))
	}
	first, read, again, open := calls[0], calls[1], calls[2], calls[3]
	if first.Type != Info || first.Return != Endless || first.Process == again.Process || again.Process == read.Process {
		t.Errorf("after an unknown outcome: %+v, then %+v", first, again)
	}
	if read.Type != Fail || read.Out.Code != NotFound || read.NS != 2 || read.Return != 3 {
		t.Errorf("a refusal: %+v", read)
	}
	if again.Type != OK || again.Out.App != "x" || again.In.Name != "one" {
		t.Errorf("an answer: %+v", again)
	}
	if open.Type != Info || open.Return != Endless || open.Out == nil {
		t.Errorf("an operation without an end: %+v", open)
	}
	if ns, ok := h.MarkAt(Over); !ok || ns != 8 {
		t.Errorf("the mark is at %d, %v", ns, ok)
	}
}

func TestAppOf(t *testing.T) {
	for id, want := range map[string]string{
		"appattempt_1780000000000_0012_000001":       "application_1780000000000_0012",
		"container_1780000000000_0012_01_000044":     "application_1780000000000_0012",
		"container_e03_1780000000000_0012_01_000044": "application_1780000000000_0012",
		"n1:45454": "", "container_": "",
	} {
		if got := AppOf(id); got != want {
			t.Errorf("AppOf(%s) = %q, want %q", id, got, want)
		}
	}
}
