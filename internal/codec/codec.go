// Package codec is the hand-written binary encoding of log entries, forwarded inputs and snapshots:
// varints, length-prefixed bytes, fixed order.
//
// A type describes its fields once, in a method that takes a *Coder. The same description encodes
// and decodes, so both always agree. Decoding is total: any bytes give a value or an error, never a
// panic. A length is not trusted before the bytes have arrived.
//
// Encoding only reads its value; it does not even write the same value back. So several goroutines
// may encode values that forks of the state share.
package codec

import (
	"encoding/binary"
	"errors"
	"fmt"

	"rmd/yarn"
)

// ErrTruncated means that the bytes ended inside a value.
var ErrTruncated = errors.New("bytes end inside a value")

// ErrMalformed means that the bytes are not a value of the expected type.
var ErrMalformed = errors.New("malformed value")

// Coder encodes to a byte slice or decodes from one. It keeps the first error; all later calls do
// nothing.
type Coder struct {
	buf      []byte
	pos      int
	decoding bool
	err      error
}

// NewEncoder returns a Coder that appends to buf, which may be nil.
func NewEncoder(buf []byte) *Coder { return &Coder{buf: buf} }

// NewDecoder returns a Coder that decodes buf. Decoded strings and bytes are copies.
func NewDecoder(buf []byte) *Coder { return &Coder{buf: buf, decoding: true} }

// Reset makes the coder an encoder that appends to buf.
func (c *Coder) Reset(buf []byte) { *c = Coder{buf: buf} }

// ResetDecoder makes the coder a decoder of buf.
func (c *Coder) ResetDecoder(buf []byte) { *c = Coder{buf: buf, decoding: true} }

// Decoding reports whether the coder decodes.
func (c *Coder) Decoding() bool { return c.decoding }

// Bytes returns the encoded bytes.
func (c *Coder) Bytes() []byte { return c.buf }

// Len returns the number of encoded bytes, or the size of the input.
func (c *Coder) Len() int { return len(c.buf) }

// Rest returns the number of bytes that are not decoded yet.
func (c *Coder) Rest() int { return len(c.buf) - c.pos }

// Offset returns the position of the next byte to decode.
func (c *Coder) Offset() int { return c.pos }

// Err returns the first error.
func (c *Coder) Err() error { return c.err }

// Fail records err, unless there is an error already.
func (c *Coder) Fail(err error) {
	if c.err == nil {
		c.err = fmt.Errorf("at byte %d: %w", c.pos, err)
	}
}

// Finish returns the first error. After decoding, it also returns an error if bytes are left over.
func (c *Coder) Finish() error {
	if c.err == nil && c.decoding && c.Rest() != 0 {
		c.Fail(fmt.Errorf("%w: %d bytes left over", ErrMalformed, c.Rest()))
	}
	return c.err
}

func (c *Coder) uvarint() uint64 {
	if c.err != nil {
		return 0
	}
	v, n := binary.Uvarint(c.buf[c.pos:])
	switch {
	case n == 0:
		c.Fail(ErrTruncated)
		return 0
	case n < 0 || (n > 1 && c.buf[c.pos+n-1] == 0):
		c.Fail(fmt.Errorf("%w: varint overflows or is not minimal", ErrMalformed))
		return 0
	}
	c.pos += n
	return v
}

// U64 codes an unsigned varint.
func (c *Coder) U64(v *uint64) {
	if c.decoding {
		*v = c.uvarint()
		return
	}
	c.buf = binary.AppendUvarint(c.buf, *v)
}

// U32 codes an unsigned varint that must fit in 32 bits.
func (c *Coder) U32(v *uint32) { small(c, v, 1<<32-1) }

// U16 codes an unsigned varint that must fit in 16 bits.
func (c *Coder) U16(v *uint16) { small(c, v, 1<<16-1) }

// U8 codes an unsigned varint that must fit in 8 bits.
func (c *Coder) U8(v *uint8) { small(c, v, 1<<8-1) }

func small[T ~uint8 | ~uint16 | ~uint32](c *Coder, v *T, limit uint64) {
	if !c.decoding {
		c.buf = binary.AppendUvarint(c.buf, uint64(*v))
		return
	}
	u := c.uvarint()
	if u > limit {
		c.Fail(fmt.Errorf("%w: %d exceeds %d", ErrMalformed, u, limit))
		u = 0
	}
	*v = T(u)
}

// I64 codes a signed number as a zigzag varint.
func (c *Coder) I64(v *int64) {
	if c.decoding {
		u := c.uvarint()
		*v = int64(u>>1) ^ -int64(u&1)
		return
	}
	c.buf = binary.AppendUvarint(c.buf, uint64(*v)<<1^uint64(*v>>63))
}

// I32 codes a signed number that must fit in 32 bits.
func (c *Coder) I32(v *int32) {
	w := int64(*v)
	c.I64(&w)
	if !c.decoding {
		return
	}
	if w > 1<<31-1 || w < -1<<31 {
		c.Fail(fmt.Errorf("%w: %d exceeds 32 bits", ErrMalformed, w))
		w = 0
	}
	*v = int32(w)
}

// Bool codes one byte, which is 0 or 1.
func (c *Coder) Bool(v *bool) {
	var u uint8
	if *v {
		u = 1
	}
	c.U8(&u)
	if !c.decoding {
		return
	}
	if u > 1 {
		c.Fail(fmt.Errorf("%w: %d is not a boolean", ErrMalformed, u))
	}
	*v = u == 1
}

// Raw codes bytes with their length first.
func (c *Coder) Raw(v *[]byte) {
	if !c.decoding {
		c.buf = binary.AppendUvarint(c.buf, uint64(len(*v)))
		c.buf = append(c.buf, *v...)
		return
	}
	b := c.take()
	*v = nil
	if len(b) > 0 {
		*v = append([]byte(nil), b...)
	}
}

// String codes a string with its length first.
func (c *Coder) String(v *string) {
	if !c.decoding {
		c.buf = binary.AppendUvarint(c.buf, uint64(len(*v)))
		c.buf = append(c.buf, *v...)
		return
	}
	*v = string(c.take())
}

func (c *Coder) take() []byte {
	n := c.uvarint()
	if c.err != nil {
		return nil
	}
	if n > uint64(c.Rest()) {
		c.Fail(ErrTruncated)
		return nil
	}
	b := c.buf[c.pos : c.pos+int(n)]
	c.pos += int(n)
	return b
}

// Count codes the length of a list. A decoder refuses a count that is greater than the number of
// bytes left, because each element takes at least one byte.
func (c *Coder) Count(n int) int {
	u := uint64(n)
	c.U64(&u)
	if c.decoding && u > uint64(c.Rest()) {
		c.Fail(ErrTruncated)
		return 0
	}
	return int(u)
}

// List codes a slice. f codes each element. An empty list decodes to nil.
func List[T any](c *Coder, v *[]T, f func(c *Coder, e *T)) {
	n := c.Count(len(*v))
	if c.decoding {
		*v = nil
		for i := 0; i < n && c.err == nil; i++ {
			var e T
			f(c, &e)
			*v = append(*v, e)
		}
		return
	}
	for i := range *v {
		f(c, &(*v)[i])
	}
}

// Slot codes the slot of a record in its table.
func Slot[T ~uint16 | ~uint32](c *Coder, v *T) { small(c, v, uint64(^T(0))) }

// Enum codes a one-byte enumeration.
func Enum[T ~uint8](c *Coder, v *T) { small(c, v, 1<<8-1) }

// Resource codes the components up to the last one that is not zero.
func (c *Coder) Resource(r *yarn.Resource) {
	n := yarn.MaxKinds
	if !c.decoding {
		for n > 0 && r[n-1] == 0 {
			n--
		}
	}
	count := uint8(n)
	c.U8(&count)
	if c.decoding {
		*r = yarn.Resource{}
		if int(count) > yarn.MaxKinds {
			c.Fail(fmt.Errorf("%w: %d resource kinds", ErrMalformed, count))
			return
		}
	}
	for i := 0; i < int(count); i++ {
		c.I64(&r[i])
	}
	if c.decoding && c.err == nil && count > 0 && r[count-1] == 0 {
		c.Fail(fmt.Errorf("%w: the last resource kind is zero", ErrMalformed))
	}
}
