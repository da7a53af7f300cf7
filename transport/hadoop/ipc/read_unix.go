//go:build unix && (!linux || race)

package ipc

import "syscall"

// rawReads and rawWrites say that rawRead and rawWrite work here.
const (
	rawReads  = true
	rawWrites = true
)

// rawRead reads what is there without waiting; again means that nothing is.
func rawRead(fd uintptr, b []byte) (n int, again bool, err error) {
	return transfer(syscall.Read, fd, b)
}

// rawWrite writes what there is room for without waiting; again means that there
// is none.
func rawWrite(fd uintptr, b []byte) (n int, again bool, err error) {
	return transfer(syscall.Write, fd, b)
}

// transfer goes through package syscall, which tells the race detector that what
// was read here was written before: that is why a build with it comes here on
// Linux too.
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
