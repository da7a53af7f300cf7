package snapshot

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/crc32"
	"io"

	"rmd/fsm/state"
	"rmd/internal/codec"
)

// Write writes the snapshot of a state. Nobody may change the state meanwhile, so callers pass a
// fork. Write calls w.Write with chunks of about 64 KiB.
func Write(w io.Writer, h Header, st *state.State) error {
	return write(w, h, st, state.Sections())
}

func write(w io.Writer, h Header, st *state.State, sections []state.Section) error {
	fw := &frameWriter{w: w, sum: sha256.New()}
	h.Format = formatOf(sections, st.Meta.Level)
	fw.raw(append([]byte(magic), h.Format))
	fw.coded(frameHeader, h.code)
	records := uint64(0)
	for _, s := range sectionsOf(sections, h.Format) {
		writeSection(fw, s, st)
		records += uint64(s.Len(st))
		if fw.err != nil {
			return fmt.Errorf("write section %s: %w", s.Name, fw.err)
		}
	}
	t := trailer{records: records, digest: st.Digest(), sum: fw.sum.Sum(nil)}
	fw.coded(frameTrailer, t.code)
	if fw.err != nil {
		return fmt.Errorf("write trailer: %w", fw.err)
	}
	return nil
}

// writeSection writes a section's head and its records in chunks.
func writeSection(fw *frameWriter, s state.Section, st *state.State) {
	head := sectionHead{s.ID, uint64(s.Len(st))}
	fw.coded(frameSection, head.code)
	c := &fw.coder
	c.Reset(fw.buf[:0])
	var at uint32 // declared once, because its address escapes
	s.Each(st, func(slot uint32) bool {
		at = slot
		c.U32(&at)
		s.Code(st, slot, c)
		if c.Len() >= chunkBytes {
			fw.frame(frameChunk, c.Bytes())
			c.Reset(c.Bytes()[:0])
		}
		return fw.err == nil
	})
	if c.Len() > 0 {
		fw.frame(frameChunk, c.Bytes())
	}
	fw.buf = c.Bytes()
}

// frameWriter writes frames: kind, length, payload, and the crc32c of these three. After the first
// error it writes nothing more.
type frameWriter struct {
	w     io.Writer
	sum   hash.Hash
	coder codec.Coder
	buf   []byte
	err   error
}

// coded encodes and writes a frame that is not a chunk.
func (f *frameWriter) coded(kind byte, code func(*codec.Coder)) {
	f.coder.Reset(f.buf[:0])
	code(&f.coder)
	f.buf = f.coder.Bytes()
	f.frame(kind, f.buf)
}

func (f *frameWriter) frame(kind byte, payload []byte) {
	if len(payload) > frameMax && f.err == nil {
		f.err = fmt.Errorf("record of %d bytes exceeds %d", len(payload), frameMax)
	}
	head := [frameHead]byte{kind}
	binary.BigEndian.PutUint32(head[1:], uint32(len(payload)))
	crc := crc32.Update(crc32.Checksum(head[:], castagnoli), castagnoli, payload)
	var tail [frameTail]byte
	binary.BigEndian.PutUint32(tail[:], crc)
	f.raw(head[:])
	f.raw(payload)
	f.raw(tail[:])
}

func (f *frameWriter) raw(b []byte) {
	if f.err != nil {
		return
	}
	f.sum.Write(b)
	_, f.err = f.w.Write(b)
}

// Sum returns the SHA-256 of all records of a state, in snapshot order. Unlike the rolling digest,
// it depends only on the content of the state, not on its history.
func Sum(st *state.State) [32]byte {
	sum := sha256.New()
	c := codec.NewEncoder(nil)
	for _, s := range state.Sections() {
		head := sectionHead{s.ID, uint64(s.Len(st))}
		head.code(c)
		var at uint32
		s.Each(st, func(slot uint32) bool {
			at = slot
			c.U32(&at)
			s.Code(st, slot, c)
			if c.Len() >= chunkBytes {
				sum.Write(c.Bytes())
				c.Reset(c.Bytes()[:0])
			}
			return true
		})
	}
	sum.Write(c.Bytes())
	return [32]byte(sum.Sum(nil))
}
