package event

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"reflect"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"rmd/internal/codec"
	"rmd/internal/codec/codectest"
	"rmd/yarn"
)

func drawEvents(t *rapid.T) []Event {
	kinds := Kinds()
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Event {
		e := New(rapid.SampledFrom(kinds).Draw(t, "kind"))
		codectest.Random(t, e)
		return e
	}), 0, 6).Draw(t, "events")
}

func TestDecodeUndoesEncode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Batch{Level: rapid.Uint32().Draw(t, "level"), Sequence: rapid.Uint64().Draw(t, "sequence"),
			Events: drawEvents(t)}
		data := want.Encode()
		got, err := Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		if got.Level != want.Level || got.Sequence != want.Sequence || len(got.Events) != len(want.Events) {
			t.Fatalf("%+v came back as %+v", want, got)
		}
		for i := range want.Events {
			if !reflect.DeepEqual(got.Events[i], want.Events[i]) {
				t.Fatalf("%+v came back as %+v", want.Events[i], got.Events[i])
			}
		}
		if !bytes.Equal(got.Encode(), data) {
			t.Fatal("a decoded batch has other bytes")
		}
	})
}

func TestWriterStartsAgainAfterFinish(t *testing.T) {
	var w Writer
	a, b := sample(KindContainerAllocated), sample(KindAskChanged)
	w.Append(a)
	w.Append(b)
	if w.Count() != 2 || w.Size() == 0 {
		t.Errorf("%d events in %d bytes", w.Count(), w.Size())
	}
	first := w.Finish(1, 2)
	keep := bytes.Clone(first)
	if w.Count() != 0 || w.Size() != 0 {
		t.Error("Finish leaves something behind")
	}
	w.Append(b)
	w.Append(a)
	second := w.Finish(1, 3)
	if !bytes.Equal(first, keep) {
		t.Error("a finished batch changes with the next one")
	}
	if want := (&Batch{Level: 1, Sequence: 2, Events: []Event{a, b}}).Encode(); !bytes.Equal(first, want) {
		t.Error("Writer and Encode differ")
	}
	if want := (&Batch{Level: 1, Sequence: 3, Events: []Event{b, a}}).Encode(); !bytes.Equal(second, want) {
		t.Error("the second batch of a Writer differs from a fresh one")
	}
}

// sealed appends the correct checksum to a body.
func sealed(body []byte) []byte {
	return binary.BigEndian.AppendUint32(body, crc32.Checksum(body, castagnoli))
}

func TestRefusals(t *testing.T) {
	good := (&Batch{Level: 1, Sequence: 1, Events: []Event{&ContainerLaunched{ContainerRef{1, 1, 1}}}}).Encode()
	body := good[:len(good)-trailerSize]
	edit := func(f func(b []byte) []byte) []byte { return sealed(f(bytes.Clone(body))) }
	for _, c := range []struct {
		name string
		data []byte
		want error
		says string
	}{
		{"empty", nil, ErrNotBatch, ""},
		{"too short", good[:minBatch-1], ErrNotBatch, ""},
		{"first magic byte", edit(func(b []byte) []byte { b[0] = 'X'; return b }), ErrNotBatch, ""},
		{"second magic byte", edit(func(b []byte) []byte { b[1] = 'X'; return b }), ErrNotBatch, ""},
		{"newer format", edit(func(b []byte) []byte {
			b[2] = Format + 1
			return b
		}), ErrFormat, "format 2, this build reads 1"},
		{"format 0", edit(func(b []byte) []byte { b[2] = 0; return b }), ErrFormat, ""},
		{"flipped bit in the body", flip(good, len(body)-1), ErrChecksum, ""},
		{"flipped bit in the checksum", flip(good, len(good)-1), ErrChecksum, ""},
		{"cut", good[:len(good)-1], ErrChecksum, ""},
		{"unknown event", edit(func(b []byte) []byte { b[6] = 99; return b }), ErrUnknownEvent, "event 1 of 1"},
		{"event 0", edit(func(b []byte) []byte { b[6] = 0; return b }), ErrUnknownEvent, ""},
		{"bytes after the last event", edit(func(b []byte) []byte { return append(b, 0) }), codec.ErrMalformed, "left over"},
		{"more events promised than there are", edit(func(b []byte) []byte { b[5] = 2; return b }), codec.ErrTruncated,
			"event 2 of 2"},
		{"count larger than the input", edit(func(b []byte) []byte { b[5] = 100; return b }), codec.ErrTruncated, "header"},
		{"fields cut", edit(func(b []byte) []byte { return b[:len(b)-1] }), codec.ErrTruncated, "ContainerLaunched"},
		{"sequence not minimal", edit(func(b []byte) []byte {
			return append(append(b[:4:4], 0x81, 0x00), b[5:]...)
		}), codec.ErrMalformed, "header"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := Decode(c.data)
			if b != nil || !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%+v, %v; want %v with %q", b, err, c.want, c.says)
			}
		})
	}
}

func flip(data []byte, at int) []byte {
	data = bytes.Clone(data)
	data[at] ^= 0x10
	return data
}

// TestEveryFlippedBitIsSeen checks that Decode rejects a batch in which any single bit is flipped.
func TestEveryFlippedBitIsSeen(t *testing.T) {
	good := (&Batch{Level: 1, Sequence: 1, Events: []Event{sample(KindApplicationSubmitted)}}).Encode()
	for i := range good {
		for bit := range 8 {
			bad := bytes.Clone(good)
			bad[i] ^= 1 << bit
			if _, err := Decode(bad); err == nil {
				t.Fatalf("bit %d of byte %d flipped and nothing said", bit, i)
			}
		}
	}
}

// TestEventsAreEncodedWhileOthersRead encodes the same events in two goroutines, as watches do. It
// is for the race detector.
func TestEventsAreEncodedWhileOthersRead(t *testing.T) {
	var all []Event
	for _, k := range Kinds() {
		all = append(all, sample(k))
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { (&Batch{Events: all}).Encode() })
	}
	wg.Wait()
}

// FuzzDecode checks that any bytes give events or an error, and that accepted bytes are the only
// encoding of their events. Half of the inputs get a correct checksum, so that the fuzzer reaches
// the records.
func FuzzDecode(f *testing.F) {
	for _, k := range Kinds() {
		data := (&Batch{Level: 1, Sequence: 1, Events: []Event{sample(k)}}).Encode()
		f.Add(data, false)
		f.Add(data[:len(data)-trailerSize], true)
	}
	f.Fuzz(func(t *testing.T, data []byte, seal bool) {
		if seal {
			data = sealed(bytes.Clone(data))
		}
		b, err := Decode(data)
		if err != nil {
			return
		}
		if again := b.Encode(); !bytes.Equal(again, data) {
			t.Fatalf("%x decodes and encodes as %x", data, again)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	var w Writer
	e := &ContainerAllocated{App: 70_000, Number: 12, Node: 8_000, Locality: 1}
	b.ReportAllocs()
	for b.Loop() {
		w.Append(e)
		if w.Count() == 1000 {
			b.ReportMetric(float64(w.Size())/1000, "bytes/event")
			w.Finish(1, 1)
		}
	}
}

// TestDecodedEventsShareNoMemory decodes more events of each kind than one array of maker has, in
// mixed order, and checks that events do not share memory.
func TestDecodedEventsShareNoMemory(t *testing.T) {
	var want Batch
	for i := range 3 * makeAtOnce {
		for _, k := range Kinds() {
			e := sample(k)
			if a, ok := e.(*ContainerAllocated); ok {
				a.Number = uint64(i)
			}
			want.Events = append(want.Events, e)
		}
	}
	got, err := Decode(want.Encode())
	if err != nil {
		t.Fatal(err)
	}
	met := map[Event]bool{}
	for i, e := range got.Events {
		if met[e] && reflect.TypeOf(e).Elem().Size() > 0 {
			t.Fatalf("event %d is one before it", i)
		}
		met[e] = true
		if !reflect.DeepEqual(e, want.Events[i]) {
			t.Fatalf("event %d is %+v, want %+v", i, e, want.Events[i])
		}
	}
}

// BenchmarkDecode decodes a batch as it occurs under full load.
func BenchmarkDecode(b *testing.B) {
	var batch Batch
	for i := range 200 {
		batch.Events = append(batch.Events, &ContainerCompleted{
			Container: ContainerRef{App: 7, Attempt: 1, Number: uint64(1<<40 + i)}},
			&ContainerAllocated{App: 7, Number: uint64(1<<40 + 1000 + i), Node: yarn.NodeSlot(i), Locality: 2})
	}
	data := batch.Encode()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}
