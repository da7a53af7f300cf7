//go:build !wasip1

package peer

import "golang.org/x/sys/unix"

// setUserTimeout sets TCP_USER_TIMEOUT on a socket. A kernel without it keeps its
// own limit, so a refusal is no error.
func setUserTimeout(fd uintptr) {
	_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(userTimeout.Milliseconds()))
}
