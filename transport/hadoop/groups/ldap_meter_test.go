package groups

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	ber "github.com/go-asn1-ber/asn1-ber"
	"github.com/go-ldap/ldap/v3"
)

// flood listens and sends first to each caller, and then more without end if that is not nil.
func flood(t *testing.T, first, more []byte) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); all.Wait() })
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer func() { _ = c.Close() }()
				if _, err := ber.ReadPacket(c); err != nil {
					return
				}
				_, err := c.Write(first)
				for err == nil && more != nil {
					_, err = c.Write(more)
				}
				_, _ = io.Copy(io.Discard, c)
			})
		}
	})
	return "ldap://" + l.Addr().String()
}

// tlv returns the header of a BER element with a value of size bytes, and the value's start.
func tlv(tag byte, size uint32, value ...byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{tag, 0x84}, size), value...)
}

// result is a search result whose name has size bytes.
func result(size uint32) []byte {
	body := tlv(0x64, 6+size, tlv(0x04, size)...)
	return tlv(0x30, 3+uint32(len(body))+size, append([]byte{0x02, 0x01, 0x01}, body...)...)
}

// TestHostileDirectory checks that directories which answer too much cost a lookup little memory and
// time.
func TestHostileDirectory(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // with more, as set for the tests, garbage counts as use
	for name, tc := range map[string]struct{ first, more []byte }{
		"a value of 2 GiB":         {result(1<<31 - 100), make([]byte, 1<<20)},
		"values of 250 KiB":        {nil, bytes.Repeat(append(result(250<<10), make([]byte, 250<<10)...), 32)},
		"a value of 300 KiB":       {result(300 << 10), make([]byte, 1<<20)},
		"entries without end":      {nil, bytes.Repeat(withAttributes(), 1000)},
		"empty elements":           {tlv(0x30, 4<<20-1), bytes.Repeat([]byte{0x04, 0x00}, 1<<19)},
		"an indefinite length":     {[]byte{0x30, 0x80}, bytes.Repeat([]byte{0x04, 0x00}, 1<<19)},
		"elements within elements": {nil, bytes.Repeat([]byte{0x30, 0x80}, 1<<19)},
		"tags without end":         {nil, bytes.Repeat([]byte{0x3f, 0xff}, 1<<19)},
	} {
		t.Run(name, func(t *testing.T) {
			url := flood(t, tc.first, tc.more)
			peak := watchHeap()
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					_, err := find(t, "ann", Key, ldapClass, ".url", url, ".base", "dc=x", ".num.attempts", "1",
						".read.timeout.ms", "180000")
					if err == nil || !strings.Contains(err.Error(), errAnswer.Error()) &&
						!strings.Contains(err.Error(), "Malformed Packet") {
						t.Errorf("answered with %v, want %v", err, errAnswer)
					}
				})
			}
			began := time.Now()
			all.Wait()
			if used := peak(); used > 128<<20 {
				t.Errorf("eight lookups used %d MiB", used>>20)
			} else {
				t.Logf("eight lookups used %d MiB in %s", used>>20, time.Since(began).Round(time.Millisecond))
			}
		})
	}
}

// withAttributes returns an entry in LDAP's form with an empty list of attributes.
func withAttributes() []byte {
	e := ber.Encode(ber.ClassUniversal, ber.TypeConstructed, ber.TagSequence, nil, "")
	e.AppendChild(ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagInteger, int64(1), ""))
	body := ber.Encode(ber.ClassApplication, ber.TypeConstructed, ldap.ApplicationSearchResultEntry, nil, "")
	body.AppendChild(text("uid=ann"))
	body.AppendChild(ber.Encode(ber.ClassUniversal, ber.TypeConstructed, ber.TagSequence, nil, ""))
	e.AppendChild(body)
	return e.Bytes()
}

// watchHeap returns a function that returns the growth of the heap up to its highest size, in bytes.
func watchHeap() func() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	before, most, stop := int64(m.HeapAlloc), int64(0), make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		for {
			runtime.ReadMemStats(&m)
			most = max(most, int64(m.HeapAlloc)-before)
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	})
	return func() int64 { close(stop); done.Wait(); return most }
}

// TestManyGroups checks that an answer with the greatest number of groups is not refused.
func TestManyGroups(t *testing.T) {
	f := forest()
	var many []entry
	for i := range maxFound {
		name := fmt.Sprintf("group-of-people-%05d", i)
		many = append(many, entry{"cn=" + name + ",ou=groups,dc=x", map[string][]string{"cn": {name}}})
	}
	f.entries["(&(objectClass=group)(member=uid=ann,dc=x))"] = many
	s := serve(t, f, nil)
	got, err := find(t, "ann", Key, ldapClass, ".url", s.url(), ".base", "dc=x")
	if n := strings.Count(got, ",") + 1; err != nil || n != maxFound {
		t.Errorf("%d groups, %v, want %d", n, err, maxFound)
	}
}

// TestMeterAcrossReads checks that elements are counted wherever a read ends, and for each message.
func TestMeterAcrossReads(t *testing.T) {
	message := withAttributes()
	stream := bytes.Repeat(message, 3)
	for step := 1; step <= len(stream); step++ {
		var e elements
		for i := 0; i < len(stream); i += step {
			if err := e.add(stream[i:min(i+step, len(stream))]); err != nil {
				t.Fatalf("in steps of %d: %v", step, err)
			}
		}
		if e.count != 5 || e.message != 0 || e.skip != 0 || len(e.header) != 0 {
			t.Fatalf("in steps of %d: %+v, want 5 elements of the last message and nothing left", step, e)
		}
	}
}
