//go:build !race

package ipc

import (
	"syscall"
	"unsafe"
)

// rawReads and rawWrites say that rawRead and rawWrite work here.
const (
	rawReads  = true
	rawWrites = true
)

// rawRead reads what is there without waiting; again means that nothing is.
func rawRead(fd uintptr, b []byte) (n int, again bool, err error) {
	return transfer(syscall.SYS_READ, fd, b)
}

// rawWrite writes what there is room for without waiting; again means that there
// is none.
func rawWrite(fd uintptr, b []byte) (n int, again bool, err error) {
	return transfer(syscall.SYS_WRITE, fd, b)
}

// transfer does not tell the Go scheduler of the call, which takes a few
// microseconds and never waits: the descriptor is in non-blocking mode. The
// first call that the scheduler is told of after all processors were idle wakes
// its monitor thread, which then polls every 20 microseconds for a while; under
// many small calls that costs as much as the calls themselves.
func transfer(trap, fd uintptr, b []byte) (n int, again bool, err error) {
	for {
		r, _, e := syscall.RawSyscall(trap, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
		switch e {
		case 0:
			return int(r), false, nil
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			return 0, true, nil
		}
		return 0, false, e
	}
}
