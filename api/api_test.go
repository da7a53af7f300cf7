package api

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"time"
)

func TestResourceString(t *testing.T) {
	for want, r := range map[string]Resource{
		"0 GiB · 0 vc":                      nil,
		"4 GiB · 2 vc":                      {MemoryMB: 4096, VCores: 2, GPU: 0},
		"0.001 GiB · 0 vc · 3 fpga · 8 gpu": {MemoryMB: 1, GPU: 8, "acme.com/fpga": 3},
		"320 GiB · 88 vc · 8 gpu":           {MemoryMB: 327680, VCores: 88, GPU: 8},
		"0.01 GiB · 1 vc · 1 plain · 2 gpu": {MemoryMB: 10, VCores: 1, GPU: 2, "plain": 1},
	} {
		if got := r.String(); got != want {
			t.Errorf("%v: %q, want %q", map[string]int64(r), got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{`"24h"`: 24 * time.Hour, `"1m30s"`: 90 * time.Second,
		`90`: 90 * time.Second, `0.5`: 500 * time.Millisecond} {
		var d Duration
		if err := json.Unmarshal([]byte(text), &d); err != nil || time.Duration(d) != want {
			t.Errorf("Unmarshal(%s) = %v, %v, want %v", text, time.Duration(d), err, want)
		}
		b, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var again Duration
		if err := json.Unmarshal(b, &again); err != nil || again != d {
			t.Errorf("%s came back as %v: %v", b, again, err)
		}
	}
	for _, text := range []string{`"soon"`, `{}`, `true`} {
		var d Duration
		if err := json.Unmarshal([]byte(text), &d); err == nil {
			t.Errorf("%s was taken for %v", text, time.Duration(d))
		}
	}
}

func TestErrorText(t *testing.T) {
	for want, e := range map[string]*Error{
		"NO_LEADER: none":       {Code: CodeNoLeader, Message: "none"},
		"NO_LEADER: none; wait": {Code: CodeNoLeader, Message: "none", Remedy: "wait"},
	} {
		if e.Error() != want {
			t.Errorf("Error() = %q, want %q", e.Error(), want)
		}
	}
}

func TestFrames(t *testing.T) {
	var buf []byte
	want := [][]byte{[]byte("one"), {}, bytes.Repeat([]byte{7}, 300)}
	for _, f := range want {
		buf = AppendFrame(buf, f)
	}
	r := bufio.NewReader(bytes.NewReader(buf))
	rest := buf
	for i, f := range want {
		var got []byte
		var err error
		if got, rest, err = NextFrame(rest); err != nil || !bytes.Equal(got, f) {
			t.Errorf("frame %d: %q %v", i, got, err)
		}
		if got, err = ReadFrame(r); err != nil || !bytes.Equal(got, f) {
			t.Errorf("frame %d read: %q %v", i, got, err)
		}
	}
	if _, err := ReadFrame(r); err != io.EOF {
		t.Errorf("after the last frame: %v", err)
	}
	if _, _, err := NextFrame(rest); !errors.Is(err, ErrFrame) {
		t.Errorf("after the last frame: %v", err)
	}
}

// FuzzFrames checks that NextFrame and ReadFrame agree on any bytes, and that each frame is decoded
// as it was encoded.
func FuzzFrames(f *testing.F) {
	f.Add([]byte{})
	f.Add(AppendFrame(nil, []byte("x")))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		rest := data
		for {
			var frame []byte
			var err error
			frame, rest, err = NextFrame(rest)
			read, rerr := ReadFrame(r)
			if (err == nil) != (rerr == nil) || !bytes.Equal(frame, read) {
				t.Fatalf("NextFrame = %q, %v, but ReadFrame = %q, %v", frame, err, read, rerr)
			}
			if err != nil {
				return
			}
		}
	})
}
