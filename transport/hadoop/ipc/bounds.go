package ipc

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Limits of what a connection keeps of its peer's data. The contents of calls are limited where
// they become inputs.
const (
	clientIDMax = 64  // bytes; Java clients have 16
	nameMax     = 256 // in bytes, of a user, a real user or a protocol
)

// A request takes more memory when it is decoded: an empty message has two bytes on the wire and
// about a hundred in memory. Therefore a request may contain messagesFree messages, and one more
// for each bytesPerMessage bytes.
const (
	bytesPerMessage = 8
	messagesFree    = 64
)

// Unmarshal decodes a request. It returns ErrTooLarge if the request has too many messages for its
// size.
func Unmarshal(b []byte, m proto.Message) error { return read(unmarshal, b, m) }

// UnmarshalPartial is Unmarshal for messages whose required fields may be missing.
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

// countMessages subtracts the number of messages below one from left. The decoder reports malformed
// bytes.
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
