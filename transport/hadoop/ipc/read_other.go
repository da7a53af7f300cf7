//go:build !unix

package ipc

import "errors"

// rawReads and rawWrites say that neither works on this system. Connections keep their buffers.
const (
	rawReads  = false
	rawWrites = false
)

func rawRead(uintptr, []byte) (n int, again bool, err error) {
	return 0, false, errors.ErrUnsupported
}

func rawWrite(uintptr, []byte) (n int, again bool, err error) {
	return 0, false, errors.ErrUnsupported
}
