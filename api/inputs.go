package api

import (
	"encoding/binary"
	"errors"
	"io"
)

// InputsType is the content type of requests and answers of POST /v1/inputs.
//
// The request body consists of frames. A frame is a length as a uvarint and that many bytes: an
// encoded input.Request. The answer has a frame for each request, in the same order. Its bytes are
// a status byte (FrameReply or FrameError) and then the encoded reply or the text of an error. The
// requests of one body run concurrently.
const InputsType = "application/x-rmd-inputs"

// Status bytes of the frames in an answer.
const (
	FrameReply = 0
	FrameError = 1
)

// MaxFrame is the largest length of a frame, in bytes.
const MaxFrame = 4 << 20

// ErrFrame means that the bytes are not a frame, or that the frame is longer than MaxFrame.
var ErrFrame = errors.New("not a frame of inputs, or one over its limit")

// AppendFrame appends one frame to buf.
func AppendFrame(buf, data []byte) []byte {
	buf = binary.AppendUvarint(buf, uint64(len(data)))
	return append(buf, data...)
}

// NextFrame splits data into its first frame and the rest.
func NextFrame(data []byte) (frame, rest []byte, err error) {
	n, k := binary.Uvarint(data)
	if k <= 0 || n > MaxFrame || n > uint64(len(data)-k) {
		return nil, data, ErrFrame
	}
	return data[k : k+int(n)], data[k+int(n):], nil
}

// FrameReader is the source of ReadFrame, such as a *bufio.Reader or a *bytes.Reader.
type FrameReader interface {
	io.Reader
	io.ByteReader
}

// ReadFrame reads one frame. It returns io.EOF if the stream ends before the frame.
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
