package peer

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"runtime"
)

// frameKind is the kind of an rpc frame. The numbers are part of the protocol: never change or
// reuse one.
type frameKind byte

const (
	frameRequest frameKind = 1
	frameReply   frameKind = 2
	frameError   frameKind = 3 // payload: length of code, code, text
	frameCancel  frameKind = 4 // the caller has stopped waiting
)

// frameHead is the size of a head: length (4), kind (1), method (1), id (8). The length counts the
// bytes after itself.
const (
	frameHead = 14
	lenSize   = 4
)

// frame is one message of an rpc connection.
type frame struct {
	kind    frameKind
	method  byte
	id      uint64
	payload []byte
}

// writeFrame writes f to w.
func writeFrame(w *bufio.Writer, f frame) error {
	var head [frameHead]byte
	binary.BigEndian.PutUint32(head[:], uint32(frameHead-lenSize+len(f.payload)))
	head[4], head[5] = byte(f.kind), f.method
	binary.BigEndian.PutUint64(head[6:], f.id)
	if _, err := w.Write(head[:]); err != nil {
		return err
	}
	_, err := w.Write(f.payload)
	return err
}

// idle reports whether no frame waits. It first yields, so that other goroutines can queue frames:
// one write to the network costs more than many frames.
func idle[T any](out chan T) bool {
	if len(out) > 0 {
		return false
	}
	runtime.Gosched()
	return len(out) == 0
}

// readFrame reads one frame. Its payload may have at most as many bytes as limit returns when the
// head of the frame has arrived.
func readFrame(r io.Reader, limit func() int) (frame, error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return frame{}, err
	}
	n := int64(binary.BigEndian.Uint32(head[:])) - (frameHead - lenSize)
	if n < 0 {
		return frame{}, fmt.Errorf("frame shorter than its head: %w", ErrFrame)
	}
	if n > int64(limit()) {
		return frame{}, fmt.Errorf("frame of %d bytes: %w", n, ErrTooLarge)
	}
	f := frame{kind: frameKind(head[4]), method: head[5], id: binary.BigEndian.Uint64(head[6:])}
	if f.kind < frameRequest || f.kind > frameCancel {
		return frame{}, fmt.Errorf("frame kind %d: %w", f.kind, ErrFrame)
	}
	if n > 0 {
		f.payload = make([]byte, n)
		if _, err := io.ReadFull(r, f.payload); err != nil {
			return frame{}, err
		}
	}
	return f, nil
}

// encodeError encodes a handler's error as a payload.
func encodeError(code, text string) []byte {
	code = code[:min(len(code), 255)]
	text = text[:min(len(text), 64<<10)]
	return append(append([]byte{byte(len(code))}, code...), text...)
}

// decodeError decodes a payload of encodeError. It accepts any bytes.
func decodeError(b []byte) *RemoteError {
	if len(b) == 0 || len(b) < 1+int(b[0]) {
		return &RemoteError{Text: "malformed error"}
	}
	return &RemoteError{Code: string(b[1 : 1+int(b[0])]), Text: string(b[1+int(b[0]):])}
}
