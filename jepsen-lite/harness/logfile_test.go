package harness

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/hashicorp/go-msgpack/v2/codec"

	"rmd/jepsen-lite/history"
)

// stored returns an entry as a replica stores it in its log.
func stored(t *testing.T, index, term uint64, kind uint8, data string) (key, value []byte) {
	t.Helper()
	b := append([]byte{1, kind}, make([]byte, 20)...)
	binary.BigEndian.PutUint64(b[2:], index)
	binary.BigEndian.PutUint64(b[10:], term)
	b = append(b, data...)
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
	return binary.BigEndian.AppendUint64(nil, index), pack(t, record{Index: index, Term: term, Type: kind, Data: b})
}

func pack(t *testing.T, v any) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := codec.NewEncoder(&out, &codec.MsgpackHandle{}).Encode(v); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestEntries(t *testing.T) {
	key, value := stored(t, 7, 3, 0, "events")
	e, err := entryOf(key, value)
	if err != nil || e.Index != 7 || e.Term != 3 || e.Kind != history.Command || string(e.Data) != "events" {
		t.Fatalf("entryOf = %+v, %v, want command 7 of term 3 with data \"events\"", e, err)
	}
	other, _ := stored(t, 8, 3, 0, "")
	if _, err := entryOf(other, value); !errors.Is(err, ErrDamagedLog) {
		t.Errorf("an entry at another index's place: %v", err)
	}
	begin := bytes.Index(value, []byte("events")) - envelopeHead
	for at := begin; at < begin+envelopeHead+len("events")+envelopeTail; at++ {
		bad := bytes.Clone(value)
		bad[at] ^= 4
		if _, err := entryOf(key, bad); err == nil {
			t.Errorf("byte %d of %d is damaged and nothing is said", at, len(value))
		}
	}
}

func TestMembership(t *testing.T) {
	type server struct {
		Suffrage    int
		ID, Address string
	}
	data := pack(t, struct{ Servers []server }{[]server{{0, "rm1.ab", "a:1"}, {1, "rm4.cd", "b:1"}, {0, "rm2.ef", "c:1"}}})
	voters, nonvoters, err := Membership(&history.Entry{Index: 1, Data: data})
	if err != nil || !slices.Equal(voters, []string{"rm1", "rm2"}) || !slices.Equal(nonvoters, []string{"rm4"}) {
		t.Fatalf("Membership = voters %v, nonvoters %v, %v, want [rm1 rm2] and [rm4]",
			voters, nonvoters, err)
	}
}
