//go:build unix

package ipc

import "syscall"

// rawReads says that rawRead works here.
const rawReads = true

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
