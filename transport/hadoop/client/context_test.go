package client

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// TestContextBytes checks that the parts of a context are joined with one allocation, however many
// there are.
func TestContextBytes(t *testing.T) {
	part := protowire.AppendBytes([]byte{0x0a}, []byte{1})
	other := protowire.AppendBytes([]byte{0x12}, []byte{2})
	body := bytes.Repeat(append(part, other...), 500_000)
	var got []byte
	if n := testing.AllocsPerRun(1, func() { got = contextBytes(body) }); n > 1 {
		t.Errorf("%v allocations", n)
	}
	if !bytes.Equal(got, bytes.Repeat([]byte{1}, 500_000)) {
		t.Errorf("%d bytes, want those of field 1", len(got))
	}
}
