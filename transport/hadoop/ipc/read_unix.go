//go:build unix && (!linux || race)

package ipc

import "syscall"

// rawReads and rawWrites say that rawRead and rawWrite work on this system.
const (
	rawReads  = true
	rawWrites = true
)

// rawRead reads the available bytes without waiting. again means that there are none.
func rawRead(fd uintptr, b []byte) (n int, again bool, err error) {
	return transfer(syscall.Read, fd, b)
}

// rawWrite writes what fits without waiting. again means that nothing fits.
func rawWrite(fd uintptr, b []byte) (n int, again bool, err error) {
	return transfer(syscall.Write, fd, b)
}

// transfer uses package syscall, which tells the race detector that the bytes read were written
// before. A build with the race detector therefore uses this file on Linux too.
func transfer(call func(fd int, b []byte) (int, error), fd uintptr, b []byte) (n int, again bool, err error) {
	for {
		n, err = call(int(fd), b)
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
