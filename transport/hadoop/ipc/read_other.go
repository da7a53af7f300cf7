//go:build !unix

package ipc

import "errors"

// rawReads says that rawRead does not work here: connections hold their buffers.
const rawReads = false

func rawRead(uintptr, []byte) (n int, again bool, err error) {
	return 0, false, errors.ErrUnsupported
}
