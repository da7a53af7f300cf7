//go:build unix && !linux

package ipc

import (
	"errors"
	"syscall"
)

// rawReads and rawWrites say that rawRead works here, and that rawWrite does not.
const (
	rawReads  = true
	rawWrites = false
)

// rawRead reads what is there without waiting; again means that nothing is.
func rawRead(fd uintptr, b []byte) (n int, again bool, err error) {
	for {
		n, err = syscall.Read(int(fd), b)
		switch err {
		case nil:
			return n, false, nil
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			return 0, true, nil
		}
		return 0, false, err
	}
}

func rawWrite(uintptr, []byte) (n int, again bool, err error) {
	return 0, false, errors.ErrUnsupported
}
