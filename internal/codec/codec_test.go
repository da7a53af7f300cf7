package codec

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"rmd/yarn"
)

// everything has one field for each method of the codec.
type everything struct {
	U64  uint64
	U32  uint32
	U16  uint16
	U8   uint8
	I64  int64
	I32  int32
	Yes  bool
	Raw  []byte
	Text string
	List []string
	Enum yarn.NodeState
	Size yarn.Resource
	App  yarn.ApplicationID
	At   yarn.AttemptID
	Box  yarn.ContainerID
	Node yarn.NodeID
	Key  yarn.SchedulerKey
}

func (e *everything) code(c *Coder) {
	c.U64(&e.U64)
	c.U32(&e.U32)
	c.U16(&e.U16)
	c.U8(&e.U8)
	c.I64(&e.I64)
	c.I32(&e.I32)
	c.Bool(&e.Yes)
	c.Raw(&e.Raw)
	c.String(&e.Text)
	List(c, &e.List, func(c *Coder, s *string) { c.String(s) })
	Enum(c, &e.Enum)
	c.Resource(&e.Size)
	c.ApplicationID(&e.App)
	c.AttemptID(&e.At)
	c.ContainerID(&e.Box)
	c.NodeID(&e.Node)
	c.Key(&e.Key)
}

func encoded(e *everything) []byte {
	c := NewEncoder(nil)
	e.code(c)
	return c.Bytes()
}

func extremes() []everything {
	return []everything{{}, {
		U64: math.MaxUint64, U32: math.MaxUint32, U16: math.MaxUint16, U8: math.MaxUint8, I64: math.MinInt64,
		I32: math.MinInt32,
		Yes: true, Raw: []byte{0, 255}, Text: "näme", List: []string{"", "a"}, Enum: 255,
		Size: yarn.Resource{0, 0, 0, 0, 0, -1},
		App:  yarn.ApplicationID{ClusterTimestamp: math.MaxInt64, Seq: math.MaxUint32},
		Node: yarn.NodeID{Host: "h", Port: 65535},
		Key:  yarn.SchedulerKey{Priority: math.MinInt32, AllocationID: math.MaxInt64},
	}, {I64: math.MaxInt64, I32: math.MaxInt32, Size: yarn.Resource{1, 2, 3, 4, 5, 6}}}
}

func TestRoundTripOfExtremes(t *testing.T) {
	for _, want := range extremes() {
		var got everything
		c := NewDecoder(encoded(&want))
		got.code(c)
		if err := c.Finish(); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v came back as %+v, %v", want, got, err)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Make[everything]().Draw(t, "value")
		if len(want.Raw) == 0 {
			want.Raw = nil
		}
		if len(want.List) == 0 {
			want.List = nil
		}
		var got everything
		c := NewDecoder(encoded(&want))
		got.code(c)
		if err := c.Finish(); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v came back as %+v, %v", want, got, err)
		}
	})
}

// TestEveryPrefixIsTruncated checks that no prefix of an encoded value decodes.
func TestEveryPrefixIsTruncated(t *testing.T) {
	for _, e := range extremes() {
		data := encoded(&e)
		for n := range data {
			var got everything
			c := NewDecoder(data[:n])
			got.code(c)
			if err := c.Finish(); !errors.Is(err, ErrTruncated) {
				t.Fatalf("%d of %d bytes: %v", n, len(data), err)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}
	for _, c := range []struct {
		name string
		data []byte
		code func(c *Coder)
		want error
	}{
		{"varint not minimal", []byte{0x80, 0x00}, func(c *Coder) { c.U64(new(uint64)) }, ErrMalformed},
		{"varint not minimal, longer", []byte{0x81, 0x80, 0x00}, func(c *Coder) { c.U64(new(uint64)) }, ErrMalformed},
		{"signed varint not minimal", []byte{0x82, 0x00}, func(c *Coder) { c.I64(new(int64)) }, ErrMalformed},
		{"varint of 65 bits", append(huge[:9:9], 0x02), func(c *Coder) { c.U64(new(uint64)) }, ErrMalformed},
		{"varint of eleven bytes", append(bytes.Repeat([]byte{0x80}, 10), 1), func(c *Coder) { c.U64(new(uint64)) },
			ErrMalformed},
		{"above 32 bits", []byte{0x80, 0x80, 0x80, 0x80, 0x10}, func(c *Coder) { c.U32(new(uint32)) }, ErrMalformed},
		{"above 16 bits", []byte{0x80, 0x80, 0x04}, func(c *Coder) { c.U16(new(uint16)) }, ErrMalformed},
		{"above 8 bits", []byte{0x80, 0x02}, func(c *Coder) { c.U8(new(uint8)) }, ErrMalformed},
		{"enumeration above 8 bits", []byte{0x80, 0x02}, func(c *Coder) { Enum(c, new(yarn.NodeState)) }, ErrMalformed},
		{"signed above 32 bits", []byte{0x80, 0x80, 0x80, 0x80, 0x10}, func(c *Coder) { c.I32(new(int32)) }, ErrMalformed},
		{"boolean of 2", []byte{2}, func(c *Coder) { c.Bool(new(bool)) }, ErrMalformed},
		{"string longer than the input", []byte{5, 'a', 'b'}, func(c *Coder) { c.String(new(string)) }, ErrTruncated},
		{"string of 2^64-1", huge, func(c *Coder) { c.String(new(string)) }, ErrTruncated},
		{"bytes of 2^64-1", huge, func(c *Coder) { c.Raw(new([]byte)) }, ErrTruncated},
		{"count larger than the input", []byte{4, 1, 1, 1}, func(c *Coder) { List(c, new([]uint64), (*Coder).U64) },
			ErrTruncated},
		{"count of 2^64-1", huge, func(c *Coder) { List(c, new([]uint64), (*Coder).U64) }, ErrTruncated},
		{"too many kinds", []byte{7, 2, 2, 2, 2, 2, 2, 2}, func(c *Coder) { c.Resource(new(yarn.Resource)) }, ErrMalformed},
		{"kinds that end in zero", []byte{2, 2, 0}, func(c *Coder) { c.Resource(new(yarn.Resource)) }, ErrMalformed},
		{"bytes left over", []byte{1, 1}, func(c *Coder) { c.U64(new(uint64)) }, ErrMalformed},
		{"nothing there", nil, func(c *Coder) { c.U64(new(uint64)) }, ErrTruncated},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := NewDecoder(c.data)
			c.code(d)
			if err := d.Finish(); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}

func TestTheFirstErrorSticks(t *testing.T) {
	c := NewDecoder([]byte{2, 7, 7})
	var yes bool
	c.Bool(&yes)
	first := c.Err()
	n := uint64(99)
	c.U64(&n)
	if first == nil || c.Err() != first || c.Offset() != 1 || n != 0 || !strings.Contains(first.Error(), "at byte 1") {
		t.Errorf("first %v, then %v at %d with %d", first, c.Err(), c.Offset(), n)
	}
}

func TestDecodedBytesAreCopies(t *testing.T) {
	data := []byte{2, 'a', 'b'}
	var raw []byte
	NewDecoder(data).Raw(&raw)
	data[1] = 'x'
	if string(raw) != "ab" {
		t.Error("what was decoded changes with its input")
	}
}

// TestEncodingOnlyReads lets two goroutines encode the same value. The race detector must find
// nothing.
func TestEncodingOnlyReads(t *testing.T) {
	e := extremes()[1]
	e.List = []string{"a"}
	slots := []uint32{1, 2}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range 100 {
				c := NewEncoder(nil)
				e.code(c)
				List(c, &slots, (*Coder).U32)
			}
		})
	}
	wg.Wait()
}

func TestEncoderAppends(t *testing.T) {
	c := NewEncoder([]byte("x"))
	n := uint32(300)
	c.U32(&n)
	if want := []byte{'x', 0xac, 0x02}; !bytes.Equal(c.Bytes(), want) || c.Len() != 3 || c.Decoding() {
		t.Errorf("encoded: %x, Len() = %d, Decoding() = %v; want %x, 3, false", c.Bytes(), c.Len(), c.Decoding(), want)
	}
	c.Reset(c.Bytes()[:0])
	c.U32(&n)
	if c.Len() != 2 {
		t.Error("Reset does not start again")
	}
	c.ResetDecoder([]byte{0xac, 0x02})
	if c.U32(&n); !c.Decoding() || n != 300 || c.Rest() != 0 {
		t.Error("ResetDecoder does not decode")
	}
}

// FuzzDecode checks that decoding never panics, and that it accepts only bytes that encoding would
// write.
func FuzzDecode(f *testing.F) {
	for _, e := range extremes() {
		f.Add(encoded(&e))
	}
	f.Add([]byte{0x80, 0x00})
	f.Fuzz(func(t *testing.T, data []byte) {
		var e everything
		c := NewDecoder(data)
		e.code(c)
		if c.Finish() != nil {
			return
		}
		if again := encoded(&e); !bytes.Equal(again, data) {
			t.Fatalf("%x decodes and encodes as %x", data, again)
		}
	})
}
