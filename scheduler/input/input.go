package input

import (
	"errors"
	"fmt"

	"rmd/internal/codec"
)

// Version is the version of the codec between replicas.
const Version = 1

// Errors of decoding.
var (
	ErrVersion = errors.New("input codec version not known")
	ErrKind    = errors.New("input kind not known")
)

// Kind is the number of an input type in the codec. Numbers are append-only.
type Kind uint8

// Input is a request to the planner.
type Input interface {
	Kind() Kind
	Code(c *codec.Coder)
	// NewReply returns an empty reply of the type that answers this input.
	NewReply() Reply
}

// Reply answers an input.
type Reply interface {
	// Code encodes or decodes the reply.
	Code(c *codec.Coder)
	// Refused returns the fault if the input was refused, or nil.
	Refused() *Refusal
	setRefusal(f *Refusal)
}

// Done is the part that all replies have. Refusal says why the input was refused; it is nil if the
// input was not refused.
type Done struct{ Refusal *Refusal }

// Refused implements Reply.
func (d *Done) Refused() *Refusal     { return d.Refusal }
func (d *Done) setRefusal(f *Refusal) { d.Refusal = f }

func (d *Done) code(c *codec.Coder) {
	has := d.Refusal != nil
	c.Bool(&has)
	if !has {
		return
	}
	if c.Decoding() {
		d.Refusal = new(Refusal)
	}
	d.Refusal.Code(c)
}

// Code implements Reply for replies without fields of their own.
func (d *Done) Code(c *codec.Coder) { d.code(c) }

// Refuse returns a reply to in that carries the fault.
func Refuse(in Input, f *Refusal) Reply {
	r := in.NewReply()
	r.setRefusal(f)
	return r
}

// Request is an input as the sequencer receives it. BodyHash is a hash of the caller's request; it
// tells a repeated call from another one with the same key. Without a Caller the audit does not
// record the operation.
type Request struct {
	// Key is the idempotency key CLIENT/SEQUENCE, joined with its owner by OwnedKey. It is empty if
	// a repetition does no harm.
	Key      string
	BodyHash uint64
	Caller   Caller
	Input    Input
}

// EncodeRequest appends the request's bytes to buf.
func EncodeRequest(buf []byte, r Request) []byte {
	c := codec.NewEncoder(buf)
	v, k := uint8(Version), uint8(r.Input.Kind())
	c.U8(&v)
	c.U8(&k)
	r.code(c)
	r.Input.Code(c)
	return c.Bytes()
}

// code encodes or decodes the fields before the input.
func (r *Request) code(c *codec.Coder) {
	c.String(&r.Key)
	c.U64(&r.BodyHash)
	c.String(&r.Caller.Who)
	c.String(&r.Caller.From)
}

// DecodeRequest decodes one request, which must take up all of data. The error wraps ErrVersion,
// ErrKind or an error of the codec.
func DecodeRequest(data []byte) (Request, error) {
	c := codec.NewDecoder(data)
	var r Request
	var v, k uint8
	c.U8(&v)
	if c.Err() == nil && v != Version {
		return r, fmt.Errorf("%w: %d, this replica speaks %d", ErrVersion, v, Version)
	}
	c.U8(&k)
	r.code(c)
	if err := c.Err(); err != nil {
		return r, fmt.Errorf("input: %w", err)
	}
	if r.Input = New(Kind(k)); r.Input == nil {
		return r, fmt.Errorf("%w: %d", ErrKind, k)
	}
	r.Input.Code(c)
	if err := c.Finish(); err != nil {
		return r, fmt.Errorf("input %d: %w", k, err)
	}
	return r, nil
}

// EncodeReply appends the reply's bytes to buf.
func EncodeReply(buf []byte, r Reply) []byte {
	c := codec.NewEncoder(buf)
	r.Code(c)
	return c.Bytes()
}

// DecodeReply decodes the reply to in, which must take up all of data.
func DecodeReply(in Input, data []byte) (Reply, error) {
	r := in.NewReply()
	c := codec.NewDecoder(data)
	r.Code(c)
	if err := c.Finish(); err != nil {
		return nil, fmt.Errorf("reply to input %d: %w", in.Kind(), err)
	}
	return r, nil
}
