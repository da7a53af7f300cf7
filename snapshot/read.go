package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"

	"rmd/fsm/state"
	"rmd/internal/codec"
	"strings"
)

// Info describes a verified snapshot.
type Info struct {
	Header
	Digest   string        `json:"digest"` // the state's rolling digest, as in REST
	SHA256   string        `json:"sha256"` // of everything before the trailer
	Bytes    int64         `json:"bytes"`
	Records  uint64        `json:"records"`
	Sections []SectionInfo `json:"sections"`
}

// SectionInfo is the size of one section.
type SectionInfo struct {
	ID      uint8  `json:"id"`
	Name    string `json:"name"`
	Records uint64 `json:"records"`
	Bytes   int64  `json:"bytes"`
}

// Read reads and verifies a whole snapshot. It returns a state that is indexed and checked.
func Read(r io.Reader) (Header, *state.State, error) {
	info, st, err := read(r, state.Sections())
	return info.Header, st, err
}

// Verify is like Read, but describes the snapshot instead of returning its state.
func Verify(r io.Reader) (Info, error) {
	info, _, err := read(r, state.Sections())
	return info, err
}

func read(r io.Reader, sections []state.Section) (info Info, st *state.State, err error) {
	fr := &frameReader{r: r, sum: sha256.New(), section: "header"}
	// The checks of the state follow references. Records that no release of rmd would write could
	// make them panic.
	defer func() {
		if p := recover(); p != nil {
			st, err = nil, fr.fail(fmt.Errorf("%w: %v", ErrInconsistent, p))
		}
	}()
	if info.Header, err = readHeader(fr, newest(sections)); err != nil {
		return info, nil, err
	}
	st = state.New()
	for _, s := range sectionsOf(sections, info.Format) {
		si, err := readSection(fr, s, st)
		if err != nil {
			return info, nil, err
		}
		info.Sections = append(info.Sections, si)
		info.Records += si.Records
	}
	if err := readTrailer(fr, &info, st); err != nil {
		return info, nil, err
	}
	if err := st.Reindex(); err != nil {
		return info, nil, fr.fail(err)
	}
	return info, st, nil
}

func readHeader(fr *frameReader, newest byte) (Header, error) {
	var h Header
	b, err := fr.raw(magicSize)
	if errors.Is(err, ErrDamaged) && !strings.HasPrefix(magic, string(fr.buf[:min(fr.offset, int64(len(magic)))])) {
		err = ErrMagic // a file that is shorter than the first bytes, and not the beginning of a snapshot
	}
	if err != nil {
		return h, fr.fail(err)
	}
	if string(b[:len(magic)]) != magic {
		return h, fr.fail(ErrMagic)
	}
	format := b[len(magic)]
	if format < 1 || format > newest {
		return h, fr.fail(fmt.Errorf("%w: format %d, this build reads up to %d", ErrFormat, format, newest))
	}
	err = fr.coded(frameHeader, h.code)
	h.Format = format
	return h, err
}

func readSection(fr *frameReader, s state.Section, st *state.State) (SectionInfo, error) {
	fr.section = s.Name
	from := fr.offset
	var head sectionHead
	if err := fr.coded(frameSection, head.code); err != nil {
		return SectionInfo{}, err
	}
	if head.id != s.ID {
		return SectionInfo{}, fr.fail(fmt.Errorf("%w: section %d where %d belongs", ErrDamaged, head.id, s.ID))
	}
	var seen uint64
	for seen < head.count {
		n, err := readChunk(fr, s, st)
		if err != nil {
			return SectionInfo{}, err
		}
		seen += n
	}
	if seen != head.count || uint64(s.Len(st)) != head.count {
		return SectionInfo{}, fr.fail(fmt.Errorf("%w: %d records, %d announced", ErrDamaged, seen, head.count))
	}
	return SectionInfo{ID: s.ID, Name: s.Name, Records: seen, Bytes: fr.offset - from}, nil
}

// readChunk decodes the records of one chunk into the state and returns their number.
func readChunk(fr *frameReader, s state.Section, st *state.State) (uint64, error) {
	start := fr.offset
	payload, err := fr.frame(frameChunk)
	if err != nil {
		return 0, err
	}
	c := &fr.coder
	c.ResetDecoder(payload)
	n, last := uint64(0), uint32(0)
	for c.Err() == nil && c.Rest() > 0 {
		at := c.Offset()
		var slot uint32
		c.U32(&slot)
		if slot <= last {
			c.Fail(fmt.Errorf("%w: slot %d after %d", codec.ErrMalformed, slot, last))
		}
		if c.Err() == nil {
			s.Code(st, slot, c)
		}
		if err := c.Err(); err != nil {
			fr.at = start + frameHead + int64(at)
			return n, fr.fail(fmt.Errorf("%w: record in slot %d: %w", ErrDamaged, slot, err))
		}
		last = slot
		n++
	}
	if n == 0 {
		return 0, fr.fail(fmt.Errorf("%w: empty chunk", ErrDamaged))
	}
	return n, nil
}

func readTrailer(fr *frameReader, info *Info, st *state.State) error {
	fr.section = "trailer"
	want := fr.sum.Sum(nil)
	var t trailer
	if err := fr.coded(frameTrailer, t.code); err != nil {
		return err
	}
	info.Digest, info.SHA256, info.Bytes = fmt.Sprintf("%016x", t.digest), hex.EncodeToString(t.sum), fr.offset
	switch {
	case !bytes.Equal(t.sum, want):
		return fr.fail(fmt.Errorf("%w: the checksum of the whole differs", ErrDamaged))
	case t.records != info.Records:
		return fr.fail(fmt.Errorf("%w: %d records, %d announced", ErrDamaged, info.Records, t.records))
	case t.digest != st.Digest():
		return fr.fail(fmt.Errorf("%w: state digest is %016x, %016x announced", ErrDamaged, st.Digest(), t.digest))
	}
	if n, err := io.ReadFull(fr.r, make([]byte, 1)); n > 0 || (err != nil && !errors.Is(err, io.EOF)) {
		return fr.fail(fmt.Errorf("%w: bytes follow the trailer", ErrDamaged))
	}
	if err := info.describes(st); err != nil {
		return fr.fail(err)
	}
	return nil
}

// frameReader reads and verifies frames.
type frameReader struct {
	r       io.Reader
	sum     hash.Hash
	coder   codec.Coder
	buf     []byte
	offset  int64 // of the next byte
	at      int64 // offset of the current frame
	section string
}

func (f *frameReader) fail(err error) error { return &DamageError{f.section, f.at, err} }

// frame reads a frame of the given kind and returns its payload, which is valid until the next
// call.
func (f *frameReader) frame(kind byte) ([]byte, error) {
	f.at = f.offset
	head, err := f.raw(frameHead)
	if err != nil {
		return nil, f.fail(err)
	}
	got, size := head[0], binary.BigEndian.Uint32(head[1:])
	if got != kind || size > frameMax {
		return nil, f.fail(fmt.Errorf("%w: frame %q of %d bytes where %q belongs", ErrDamaged, got, size, kind))
	}
	crc := crc32.Checksum(head, castagnoli)
	all, err := f.raw(int(size) + frameTail)
	if err != nil {
		return nil, f.fail(err)
	}
	payload := all[:size]
	if crc32.Update(crc, castagnoli, payload) != binary.BigEndian.Uint32(all[size:]) {
		return nil, f.fail(fmt.Errorf("%w: checksum differs", ErrDamaged))
	}
	return payload, nil
}

// coded reads and decodes a frame that is not a chunk.
func (f *frameReader) coded(kind byte, code func(*codec.Coder)) error {
	payload, err := f.frame(kind)
	if err != nil {
		return err
	}
	f.coder.ResetDecoder(payload)
	code(&f.coder)
	if err := f.coder.Finish(); err != nil {
		return f.fail(fmt.Errorf("%w: %w", ErrDamaged, err))
	}
	return nil
}

// raw reads n bytes, which are valid until the next call. If n is too large because of damage, raw
// allocates at most readStep bytes more than it has read, or as much again as it has read.
func (f *frameReader) raw(n int) ([]byte, error) {
	f.buf = f.buf[:0]
	for len(f.buf) < n {
		from := len(f.buf)
		step := min(n-from, max(readStep, from))
		if cap(f.buf) < from+step {
			f.buf = append(make([]byte, 0, from+step), f.buf...)
		}
		f.buf = f.buf[:from+step]
		m, err := io.ReadFull(f.r, f.buf[from:])
		f.offset += int64(m)
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				err = fmt.Errorf("%w: ends after %d bytes", ErrDamaged, f.offset)
			}
			return nil, err
		}
	}
	f.sum.Write(f.buf)
	return f.buf, nil
}
