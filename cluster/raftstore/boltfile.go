package raftstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
)

// The parts of bbolt's file format that are checked here. All numbers are little-endian. A page has
// a header of 16 bytes (id 8, flags 2, count 2, overflow 4), then elements of 16 bytes. The first
// two pages are meta pages.
const (
	boltMagic      = 0xED0CDAED
	boltHead       = 16
	boltElement    = 16
	boltMeta       = 64 // magic 4, version 4, page size 4, flags 4, root 16, free list 8, pages 8, tx 8, sum 8
	boltBranch     = 0x01
	boltLeaf       = 0x02
	boltBucketFlag = 0x01
	boltDepthMax   = 64
)

// boltFile checks the pages of a store before bbolt maps the file. bbolt looks for free pages in a
// goroutine of its own, where a truncated file or a damaged page would crash the process.
type boltFile struct {
	f        *os.File
	path     string
	pageSize int64
	pages    uint64 // the number of pages
	seen     map[uint64]bool
}

// checkBoltFile returns an error if a store's pages are inconsistent. A missing file is valid.
func checkBoltFile(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	if err != nil || st.Size() == 0 { // bbolt initializes an empty file
		return err
	}
	b := &boltFile{f: f, path: path, seen: map[uint64]bool{}}
	root, err := b.meta()
	if err != nil {
		return err
	}
	if need := int64(b.pages) * b.pageSize; st.Size() < need {
		return b.damaged("it has %d bytes of %d: it was cut off", st.Size(), need)
	}
	return b.page(root, 0, span{})
}

func (b *boltFile) damaged(format string, a ...any) error {
	return fmt.Errorf("%s: %s: %w", b.path, fmt.Sprintf(format, a...), ErrDamaged)
}

// meta reads the newest valid meta page and returns the id of the root page.
func (b *boltFile) meta() (root uint64, err error) {
	var newest uint64
	for _, at := range []int64{0, 4096, int64(os.Getpagesize())} {
		m := make([]byte, boltMeta)
		if _, err := b.f.ReadAt(m, at+boltHead); err != nil {
			continue
		}
		sum := fnv.New64a()
		_, _ = sum.Write(m[:boltMeta-8]) // never fails
		tx := binary.LittleEndian.Uint64(m[48:])
		if binary.LittleEndian.Uint32(m) != boltMagic || sum.Sum64() != binary.LittleEndian.Uint64(m[56:]) ||
			b.pageSize > 0 && tx < newest {
			continue
		}
		newest, root = tx, binary.LittleEndian.Uint64(m[16:])
		b.pageSize, b.pages = int64(binary.LittleEndian.Uint32(m[8:])), binary.LittleEndian.Uint64(m[40:])
	}
	if b.pageSize < 512 || b.pageSize > 1<<16 || b.pages > 1<<40 {
		return 0, b.damaged("neither of its first pages is whole")
	}
	return root, nil
}

// span limits the keys of a page: at least from, and less than before. nil means no limit.
type span struct{ from, before []byte }

// page checks a page and all pages below it.
func (b *boltFile) page(id uint64, depth int, within span) error {
	head := make([]byte, boltHead)
	if id < 2 || id >= b.pages || b.seen[id] || depth > boltDepthMax {
		return b.damaged("page %d is out of place", id)
	}
	if _, err := b.f.ReadAt(head, int64(id)*b.pageSize); err != nil {
		return fmt.Errorf("%s: page %d: %w", b.path, id, err)
	}
	flags, count := binary.LittleEndian.Uint16(head[8:]), int64(binary.LittleEndian.Uint16(head[10:]))
	overflow := uint64(binary.LittleEndian.Uint32(head[12:]))
	size := int64(overflow+1) * b.pageSize
	switch {
	case binary.LittleEndian.Uint64(head) != id:
		return b.damaged("page %d says that it is page %d", id, binary.LittleEndian.Uint64(head))
	case flags != boltBranch && flags != boltLeaf || flags == boltBranch && count == 0:
		return b.damaged("page %d has flags %#x and %d elements", id, flags, count)
	case id+overflow >= b.pages || boltHead+count*boltElement > size:
		return b.damaged("page %d is larger than its place", id)
	}
	for i := range overflow + 1 {
		b.seen[id+i] = true
	}
	elements := make([]byte, count*boltElement)
	if _, err := b.f.ReadAt(elements, int64(id)*b.pageSize+boltHead); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: page %d: %w", b.path, id, err)
	}
	keys := make([][]byte, count)
	for i := range count {
		e, at := elements[i*boltElement:(i+1)*boltElement], boltHead+i*boltElement
		var err error
		if keys[i], err = b.key(id, flags, e, at, size); err != nil {
			return err
		}
		if i > 0 && bytes.Compare(keys[i-1], keys[i]) >= 0 || i == 0 && bytes.Compare(within.from, keys[0]) > 0 {
			return b.damaged("key %d of page %d is out of order", i, id)
		}
	}
	if within.before != nil && count > 0 && bytes.Compare(keys[count-1], within.before) >= 0 {
		return b.damaged("the last key of page %d is out of order", id)
	}
	for i := range count {
		e, at := elements[i*boltElement:(i+1)*boltElement], boltHead+i*boltElement
		below := span{from: keys[i], before: within.before}
		if i+1 < count {
			below.before = keys[i+1]
		}
		if err := b.element(id, flags, e, at, depth, below); err != nil {
			return err
		}
	}
	return nil
}

// key returns the key of an element, and checks that key and value lie inside the page.
func (b *boltFile) key(id uint64, flags uint16, e []byte, at, size int64) ([]byte, error) {
	word := func(i int) int64 { return int64(binary.LittleEndian.Uint32(e[i:])) }
	from, length, value := at+word(4), word(8), word(12)
	if flags == boltBranch {
		from, length, value = at+word(0), word(4), 0
	}
	if from+length+value > size {
		return nil, b.damaged("page %d has a key or a value beyond its end", id)
	}
	key := make([]byte, length)
	if _, err := b.f.ReadAt(key, int64(id)*b.pageSize+from); err != nil {
		return nil, fmt.Errorf("%s: page %d: %w", b.path, id, err)
	}
	return key, nil
}

// element checks the page to which an element points. at is the element's offset in its page.
func (b *boltFile) element(id uint64, flags uint16, e []byte, at int64, depth int, below span) error {
	word := func(i int) int64 { return int64(binary.LittleEndian.Uint32(e[i:])) }
	if flags == boltBranch {
		return b.page(binary.LittleEndian.Uint64(e[8:]), depth+1, below)
	}
	value := at + word(4) + word(8)
	if word(0)&boltBucketFlag == 0 {
		return nil
	}
	root := make([]byte, 8)
	if _, err := b.f.ReadAt(root, int64(id)*b.pageSize+value); err != nil {
		return fmt.Errorf("%s: page %d: %w", b.path, id, err)
	}
	if r := binary.LittleEndian.Uint64(root); r != 0 { // otherwise the bucket is small and lies inside the page
		return b.page(r, depth+1, span{})
	}
	return nil
}
