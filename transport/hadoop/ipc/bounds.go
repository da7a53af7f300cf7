package ipc

import (
	"google.golang.org/protobuf/proto"

	"rmd/internal/gss"
	"rmd/transport/hadoop/bounded"
)

// Limits of what a connection keeps of its peer's data. The contents of calls are limited where
// they become inputs.
const (
	clientIDMax = 64  // bytes; Java clients have 16
	nameMax     = 256 // in bytes, of a user, a real user or a protocol
)

// controlMax limits the memory of a message that sets up a connection, in bytes after decoding. A
// caller needs no name and no token to send one, and each connection may send them at once. One
// token of a ticket fits.
const controlMax = gss.TokenMax + 8<<10

// readControl decodes a message that sets up a connection.
func readControl(b []byte, m proto.Message) error {
	if _, err := bounded.ShapeOf(m).Memory(b, controlMax); err != nil {
		return err
	}
	return Unmarshal(b, m)
}

// readReply decodes a reply of a server.
func readReply(b []byte, m proto.Message) error {
	return bounded.UnmarshalBy(unmarshal, b, m)
}

var unmarshal = proto.UnmarshalOptions{DiscardUnknown: true}

// Unmarshal decodes a request, or a part of one. Conn.find has measured it, so it has no limit here.
func Unmarshal(b []byte, m proto.Message) error { return unmarshal.Unmarshal(b, m) }

// UnmarshalPartial is Unmarshal for messages whose required fields may be missing.
func UnmarshalPartial(b []byte, m proto.Message) error {
	partial := unmarshal
	partial.AllowPartial = true
	return partial.Unmarshal(b, m)
}
