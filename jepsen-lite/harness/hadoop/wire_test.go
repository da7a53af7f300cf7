package hadoop

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// TestFields checks that appended fields can be read again, including negative numbers, and that
// fields of other wire types are skipped.
func TestFields(t *testing.T) {
	b := Number(nil, 1, -105)
	b = Text(b, 16, "n1")
	b = append(b, 3<<3|5, 1, 2, 3, 4)
	b = append(b, 4<<3|1, 1, 2, 3, 4, 5, 6, 7, 8)
	b = Bytes(b, 2, nil)
	var seen []int
	err := Each(b, func(field int, number int64, data []byte) {
		seen = append(seen, field)
		switch {
		case field == 1 && number != -105:
			t.Errorf("number %d", number)
		case field == 16 && string(data) != "n1":
			t.Errorf("text %q", data)
		case field == 2 && (data == nil || len(data) != 0):
			t.Errorf("empty bytes %v", data)
		}
	})
	if err != nil || len(seen) != 5 {
		t.Errorf("fields %v, %v", seen, err)
	}
}

// TestCutFields checks that a truncated message leads to an error or an early end, never to a
// panic.
func TestCutFields(t *testing.T) {
	whole := Bytes(Number(nil, 1, 1<<40), 2, bytes.Repeat([]byte{1}, 300))
	for n := range whole {
		_ = Each(whole[:n], func(int, int64, []byte) {})
	}
	if err := Each(whole[:len(whole)-1], func(int, int64, []byte) {}); !errors.Is(err, ErrWire) {
		t.Errorf("a field that is cut: %v", err)
	}
	if err := Each([]byte{1<<3 | 3}, func(int, int64, []byte) {}); !errors.Is(err, ErrWire) {
		t.Errorf("a group: %v", err)
	}
}

func answer(status int64, class string, body []byte) []byte {
	head := Number(Number(nil, 1, 7), 2, status)
	if class != "" {
		head = Text(Text(head, 4, class), 5, "no")
	}
	if body == nil {
		return frame(head)
	}
	return frame(head, body)
}

func TestReadReply(t *testing.T) {
	in := bytes.NewReader(append(answer(0, "", []byte("yes")), answer(2, "java.io.IOException", nil)...))
	if b, err := ReadReply(in); err != nil || string(b) != "yes" {
		t.Errorf("ReadReply = %q, %v, want \"yes\"", b, err)
	}
	var r *Refusal
	if _, err := ReadReply(in); !errors.As(err, &r) || r.Class != "java.io.IOException" || !r.Fatal {
		t.Errorf("ReadReply of a fatal answer: %v, want a fatal Refusal of class java.io.IOException",
			err)
	}
	if _, err := ReadReply(in); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	if _, err := ReadReply(bytes.NewReader([]byte{0x7f, 0xff, 0xff, 0xff})); !errors.Is(err, ErrWire) {
		t.Errorf("an answer without end: %v", err)
	}
}
