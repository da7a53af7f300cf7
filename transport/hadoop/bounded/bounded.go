// Package bounded decodes protobuf messages of senders that are not trusted. It looks at the bytes
// first: two bytes on the wire can become a hundred and more in memory. Nobody else decodes such
// messages, except package ipc, which measures a whole request before it decodes its parts.
package bounded

import (
	"errors"
	"fmt"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Limits of one message.
const (
	Max      = 32 << 20 // bytes of memory after decoding, where the caller gives no limit
	depthMax = 100      // messages within each other, as in Java's decoder
)

// ErrTooLarge means that a message needs too much memory, or is nested too deeply.
var ErrTooLarge = errors.New("message too large")

// Unmarshal is proto.Unmarshal for a message that needs at most Max bytes of memory. It returns
// ErrTooLarge for others.
func Unmarshal(b []byte, m proto.Message) error { return UnmarshalBy(proto.UnmarshalOptions{}, b, m) }

// UnmarshalBy is Unmarshal with options.
func UnmarshalBy(o proto.UnmarshalOptions, b []byte, m proto.Message) error {
	if _, err := ShapeOf(m).Memory(b, Max); err != nil {
		return err
	}
	return o.Unmarshal(b, m)
}

// Estimates for 64 bit, in bytes. The elements of a list count twice, because the list is copied
// when it grows.
const (
	messageSize = 48 // an empty message without fields
	fieldSize   = 8  // a field of a message, present or not
	scalarSize  = 8
	textSize    = 16 // without its bytes
)

// Shape is what the guard knows of a type of messages. It is computed once, because it is used for
// every request.
type Shape struct {
	size   int64   // of the message without its fields' values
	fields []field // by number
}

// field is what the guard knows of one field. The zero value is a field that the type does not have.
type field struct {
	kind  kind
	list  bool
	shape *Shape // of a message
}

type kind uint8

const (
	unknown kind = iota
	number
	text // or bytes
	message
)

var (
	shapesMu sync.Mutex
	shapes   = map[protoreflect.FullName]*Shape{}
)

// ShapeOf returns the shape of a message's type.
func ShapeOf(m proto.Message) *Shape {
	shapesMu.Lock()
	defer shapesMu.Unlock()
	return shapeOf(m.ProtoReflect().Descriptor())
}

func shapeOf(d protoreflect.MessageDescriptor) *Shape {
	if s := shapes[d.FullName()]; s != nil {
		return s
	}
	all := d.Fields()
	s := &Shape{size: messageSize + fieldSize*int64(all.Len())}
	shapes[d.FullName()] = s // before the fields: a type may contain itself
	for i := range all.Len() {
		f := all.Get(i)
		if more := int(f.Number()) + 1 - len(s.fields); more > 0 {
			s.fields = append(s.fields, make([]field, more)...)
		}
		s.fields[f.Number()] = fieldOf(f)
	}
	return s
}

func fieldOf(f protoreflect.FieldDescriptor) field {
	out := field{kind: number, list: f.Cardinality() == protoreflect.Repeated}
	switch {
	case f.Message() != nil:
		out.kind, out.shape = message, shapeOf(f.Message())
	case f.Kind() == protoreflect.StringKind || f.Kind() == protoreflect.BytesKind:
		out.kind = text
	}
	return out
}

// Memory estimates the memory that a message needs after decoding, in bytes. It returns ErrTooLarge
// if that is more than most. It does not allocate. It ignores malformed bytes, because the decoder
// reports them.
//
// A field that may occur once counts each time that it occurs: the decoder merges such messages,
// and makes a new text for each occurrence.
func (s *Shape) Memory(b []byte, most int64) (int64, error) {
	e := estimate{most: most}
	e.message(s, b, 0)
	switch {
	case e.deep:
		return e.used, fmt.Errorf("it has more than %d messages within each other: %w", depthMax, ErrTooLarge)
	case e.used > most:
		return e.used,
			fmt.Errorf("it has %d bytes and would use more than the %d bytes of memory that one message may use; send fewer elements, or several requests: %w",
				len(b), most, ErrTooLarge)
	}
	return e.used, nil
}

// estimate adds up the memory of a message, and stops above most.
type estimate struct {
	used, most int64
	deep       bool
}

func (e *estimate) message(s *Shape, b []byte, depth int) {
	if depth > depthMax {
		e.deep = true
		return
	}
	e.used += s.size
	for len(b) > 0 && e.used <= e.most && !e.deep {
		tag, n := varint(b)
		if n < 0 {
			return
		}
		b = b[n:]
		var f *field
		if number := tag >> 3; number < uint64(len(s.fields)) {
			f = &s.fields[number]
		} else {
			f = &none
		}
		if n = e.field(f, protowire.Number(tag>>3), protowire.Type(tag&7), b, depth); n < 0 {
			return
		}
		b = b[n:]
	}
}

// none is a field that a type does not have.
var none field

// varint is protowire.ConsumeVarint. It is quicker for one byte, as most tags and lengths have.
func varint(b []byte) (uint64, int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	return protowire.ConsumeVarint(b)
}

// field adds the field at the start of b, and returns its length. A negative length means malformed
// bytes.
func (e *estimate) field(f *field, num protowire.Number, typ protowire.Type, b []byte, depth int) int {
	e.used += 2 * scalarSize
	switch typ {
	case protowire.BytesType:
		size, n := varint(b)
		if n < 0 || size > uint64(len(b)-n) {
			return -1
		}
		e.bytes(f, b[n:n+int(size)], depth)
		return n + int(size)
	case protowire.VarintType:
		_, n := varint(b)
		return n
	}
	n := protowire.ConsumeFieldValue(num, typ, b)
	if f.kind == unknown && n > 0 { // the decoder may keep it
		e.used += 2 * int64(n)
	}
	return n
}

// bytes adds the value of a length-delimited field.
func (e *estimate) bytes(f *field, value []byte, depth int) {
	switch {
	case f.kind == message:
		e.message(f.shape, value, depth+1)
	case f.kind == number: // packed numbers of a list, one byte or more each
		e.used += scalarSize * int64(len(value))
	case f.kind == text && f.list:
		e.used += 2*textSize + int64(len(value))
	case f.kind == text:
		e.used += textSize + int64(len(value))
	default:
		e.used += 2 * int64(len(value))
	}
}
