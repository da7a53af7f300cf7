//go:build !race

package ipc

import (
	"syscall"
	"unsafe"
)

// rawReads and rawWrites say that rawRead and rawWrite work on this system.
const (
	rawReads  = true
	rawWrites = true
)

// rawRead reads the available bytes without waiting. again means that there are none.
func rawRead(fd uintptr, b []byte) (n int, again bool, err error) {
	return transfer(syscall.SYS_READ, fd, b)
}

// rawWrite writes what fits without waiting. again means that nothing fits.
func rawWrite(fd uintptr, b []byte) (n int, again bool, err error) {
	return transfer(syscall.SYS_WRITE, fd, b)
}

// transfer makes a system call without telling the Go scheduler. The call takes a few microseconds
// and never blocks, because the descriptor is in non-blocking mode.
//
// If the scheduler is told of a call after all processors were idle, it wakes its monitor thread,
// which then polls every 20 microseconds for a while. With many small calls, that costs as much as
// the calls themselves.
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
