package ipc

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// What a connection keeps of what its peer says is bounded here; what a call carries is
// bounded where it becomes an input.
const (
	clientIDMax = 64  // bytes; Java clients have 16
	nameMax     = 256 // bytes of a user, a real user, a protocol
)

// A request takes more memory as messages than as bytes: an empty message has two bytes
// on the wire and a hundred in memory. So it may hold one message for so many bytes,
// beyond the first ones.
const (
	bytesPerMessage = 8
	messagesFree    = 64
)

// Unmarshal reads a request. It refuses one that has many more messages than its bytes
// can fill.
func Unmarshal(b []byte, m proto.Message) error { return read(unmarshal, b, m) }

// UnmarshalPartial is Unmarshal for messages of which required fields may be missing.
func UnmarshalPartial(b []byte, m proto.Message) error {
	partial := unmarshal
	partial.AllowPartial = true
	return read(partial, b, m)
}

func read(o proto.UnmarshalOptions, b []byte, m proto.Message) error {
	left := messagesFree + len(b)/bytesPerMessage
	if err := countMessages(m.ProtoReflect().Descriptor(), b, &left); err != nil {
		return err
	}
	return o.Unmarshal(b, m)
}

// countMessages takes every message below one off left. What it cannot read is left to
// the decoder.
func countMessages(d protoreflect.MessageDescriptor, b []byte, left *int) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil
		}
		b = b[n:]
		n = protowire.ConsumeFieldValue(num, typ, b)
		if n < 0 {
			return nil
		}
		value := b[:n]
		b = b[n:]
		f := d.Fields().ByNumber(num)
		if f == nil || f.Message() == nil || typ != protowire.BytesType {
			continue
		}
		if *left--; *left < 0 {
			return fmt.Errorf("the request has more than a message for each %d bytes: %w", bytesPerMessage, ErrTooLarge)
		}
		inner, _ := protowire.ConsumeBytes(value)
		if err := countMessages(f.Message(), inner, left); err != nil {
			return err
		}
	}
	return nil
}
