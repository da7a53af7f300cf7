package raftstore

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/hashicorp/raft"
)

// The envelope of each stored entry:
//
//	version 1 | type 1 | index 8 | term 8 | extensions length 4 | extensions | data | crc 4
//
// The CRC-32C covers everything before it. It detects flipped bits, and the index detects a record
// that is stored under another index. raft-boltdb itself has no checksum.
const (
	envelopeVersion = 1
	envelopeHead    = 22
	envelopeTail    = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal returns a copy of l whose data is the envelope of l.
func seal(l *raft.Log) *raft.Log {
	b := make([]byte, envelopeHead, envelopeHead+len(l.Extensions)+len(l.Data)+envelopeTail)
	b[0], b[1] = envelopeVersion, byte(l.Type)
	binary.BigEndian.PutUint64(b[2:], l.Index)
	binary.BigEndian.PutUint64(b[10:], l.Term)
	binary.BigEndian.PutUint32(b[18:], uint32(len(l.Extensions)))
	b = append(append(b, l.Extensions...), l.Data...)
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return &raft.Log{Index: l.Index, Term: l.Term, Type: l.Type, Data: b, AppendedAt: l.AppendedAt}
}

// unseal checks that the stored record in is the entry with the given index, and writes the entry
// to out.
func unseal(index uint64, in, out *raft.Log) error {
	b := in.Data
	bad := func(format string, a ...any) error {
		return fmt.Errorf("log entry %d: %s: %w", index, fmt.Sprintf(format, a...), ErrDamaged)
	}
	if len(b) < envelopeHead+envelopeTail {
		return bad("envelope of %d bytes", len(b))
	}
	body, sum := b[:len(b)-envelopeTail], binary.BigEndian.Uint32(b[len(b)-envelopeTail:])
	if crc32.Checksum(body, castagnoli) != sum {
		return bad("checksum differs")
	}
	if b[0] != envelopeVersion {
		return bad("envelope version %d", b[0])
	}
	at, term := binary.BigEndian.Uint64(b[2:]), binary.BigEndian.Uint64(b[10:])
	if at != index || in.Index != index || in.Term != term || byte(in.Type) != b[1] {
		return bad("the record there is of index %d, term %d, type %d", at, term, b[1])
	}
	ext := int64(binary.BigEndian.Uint32(b[18:]))
	if ext > int64(len(body)-envelopeHead) {
		return bad("extensions of %d bytes", ext)
	}
	*out = raft.Log{Index: at, Term: term, Type: raft.LogType(b[1]), AppendedAt: in.AppendedAt}
	if ext > 0 {
		out.Extensions = body[envelopeHead : envelopeHead+ext]
	}
	if data := body[envelopeHead+ext:]; len(data) > 0 {
		out.Data = data
	}
	return nil
}
