package peer

import "golang.org/x/sys/unix"

// setUserTimeout sets TCP_USER_TIMEOUT on a socket. A kernel that does not support it keeps its own
// limit, so an error is ignored.
func setUserTimeout(fd uintptr) {
	_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(userTimeout.Milliseconds()))
}
