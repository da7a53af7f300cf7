package api

import (
	"encoding/binary"
	"errors"
	"io"
)

// InputsType is the content type of POST /v1/inputs, both ways.
//
// The request body is frames, each a uvarint length and that many bytes of one
// encoded input.Request. The answer has one frame for each, in order: a uvarint
// length, a status byte (FrameReply or FrameError), then the encoded reply or
// the text of an error. The requests of one body run concurrently.
const InputsType = "application/x-rmd-inputs"

// Status bytes of an answer's frame.
const (
	FrameReply = 0
	FrameError = 1
)

// MaxFrame bounds one frame.
const MaxFrame = 4 << 20

// ErrFrame says that the bytes are not a frame, or one that is too long.
var ErrFrame = errors.New("not a frame of inputs, or one over its limit")

// AppendFrame appends one frame to buf.
func AppendFrame(buf, data []byte) []byte {
	buf = binary.AppendUvarint(buf, uint64(len(data)))
	return append(buf, data...)
}

// NextFrame takes the first frame off data.
func NextFrame(data []byte) (frame, rest []byte, err error) {
	n, k := binary.Uvarint(data)
	if k <= 0 || n > MaxFrame || n > uint64(len(data)-k) {
		return nil, data, ErrFrame
	}
	return data[k : k+int(n)], data[k+int(n):], nil
}

// FrameReader is what ReadFrame reads from: a *bufio.Reader, a *bytes.Reader.
type FrameReader interface {
	io.Reader
	io.ByteReader
}

// ReadFrame reads one frame; io.EOF when the stream ends before it.
func ReadFrame(r FrameReader) ([]byte, error) {
	n, err := binary.ReadUvarint(r)
	if err == io.EOF {
		return nil, io.EOF
	}
	if err != nil || n > MaxFrame {
		return nil, ErrFrame
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, ErrFrame
	}
	return b, nil
}
