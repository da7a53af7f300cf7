package event

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"rmd/internal/codec"
)

// Errors of Decode.
var (
	ErrNotBatch     = errors.New("not a batch of events")
	ErrFormat       = errors.New("batch format is newer than this build")
	ErrChecksum     = errors.New("batch checksum does not match")
	ErrUnknownEvent = errors.New("unknown event number")
)

const (
	magic0, magic1 = 'R', 'B'
	trailerSize    = 4
	minBatch       = 2 + 4 + trailerSize
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Batch is the content of one log entry. Package fsm defines the meaning of Sequence.
type Batch struct {
	Level    uint32
	Sequence uint64
	Events   []Event
}

// Writer encodes a batch event by event.
type Writer struct {
	body  codec.Coder
	kind  uint16 // of the event appended last
	count int
}

// Append adds an event.
func (w *Writer) Append(e Event) {
	w.kind = uint16(e.Kind())
	w.body.U16(&w.kind)
	e.Code(&w.body)
	w.count++
}

// Count returns the number of events appended since the last Finish.
func (w *Writer) Count() int { return w.count }

// Size returns the number of bytes appended since the last Finish.
func (w *Writer) Size() int { return w.body.Len() }

// Finish returns the encoded batch, which the caller owns, and resets the writer.
func (w *Writer) Finish(level uint32, sequence uint64) []byte {
	var c codec.Coder
	c.Reset(make([]byte, 0, w.body.Len()+32))
	header(&c, level, sequence, w.count)
	out := append(c.Bytes(), w.body.Bytes()...)
	out = binary.BigEndian.AppendUint32(out, crc32.Checksum(out, castagnoli))
	w.body.Reset(w.body.Bytes()[:0])
	w.count = 0
	return out
}

func header(c *codec.Coder, level uint32, sequence uint64, count int) {
	c.Reset(append(c.Bytes(), magic0, magic1))
	format := uint8(Format)
	c.U8(&format)
	c.U32(&level)
	c.U64(&sequence)
	n := uint32(count)
	c.U32(&n)
}

// Encode returns the encoded batch.
func (b *Batch) Encode() []byte {
	var w Writer
	for _, e := range b.Events {
		w.Append(e)
	}
	return w.Finish(b.Level, b.Sequence)
}

// Decode decodes a batch. The error names the event and the byte offset at fault. ErrUnknownEvent
// and ErrFormat mean that a newer build wrote the batch.
func Decode(data []byte) (*Batch, error) {
	if len(data) < minBatch || data[0] != magic0 || data[1] != magic1 {
		return nil, ErrNotBatch
	}
	if data[2] != Format {
		return nil, fmt.Errorf("%w: format %d, this build reads %d", ErrFormat, data[2], Format)
	}
	body, sum := data[:len(data)-trailerSize], data[len(data)-trailerSize:]
	if crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(sum) {
		return nil, ErrChecksum
	}
	c := codec.NewDecoder(body[3:])
	b := &Batch{}
	c.U32(&b.Level)
	c.U64(&b.Sequence)
	n := c.Count(0)
	if err := c.Err(); err != nil {
		return nil, fmt.Errorf("batch header: %w", err)
	}
	b.Events = make([]Event, 0, n)
	m := maker{left: n}
	for i := 0; i < n; i++ {
		e, err := m.decode(c)
		if err != nil {
			return nil, fmt.Errorf("event %d of %d: %w", i+1, n, err)
		}
		b.Events = append(b.Events, e)
	}
	if err := c.Finish(); err != nil {
		return nil, fmt.Errorf("batch: %w", err)
	}
	return b, nil
}

func (m *maker) decode(c *codec.Coder) (Event, error) {
	c.U16(&m.kind)
	if err := c.Err(); err != nil {
		return nil, err
	}
	e := m.make(Kind(m.kind))
	if e == nil {
		return nil, fmt.Errorf("%w %d at byte %d", ErrUnknownEvent, m.kind, c.Offset())
	}
	e.Code(c)
	if err := c.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", Kind(m.kind), err)
	}
	return e, nil
}
