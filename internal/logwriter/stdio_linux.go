package logwriter

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// pipeSize is the room, in bytes, that a pipe gets for what is written at once: the goroutines of a
// process that ends by SIGQUIT. It is what the kernel allows to every user.
const pipeSize = 1 << 20

// Detach makes every write to stdout and stderr fail at once where it would wait for a reader. This
// also holds for libraries, and for the runtime, which prints a panic while all else stands still.
// Detach returns another file of stderr, whose writes wait, for New. A stream that cannot be changed
// stays as it is; then only writes through a Writer do not wait.
func Detach() *os.File {
	_ = neverWait(syscall.Stdout) // see above
	if err := neverWait(syscall.Stderr); err != nil {
		return os.Stderr
	}
	own, err := unix.FcntlInt(uintptr(syscall.Stderr), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return os.Stderr
	}
	return os.NewFile(uintptr(own), os.Stderr.Name())
}

// neverWait sets O_NONBLOCK. The flag belongs to the open file, which the shell or other replicas may
// share. So a pipe or terminal is opened again. A socket cannot be, but it belongs to this process
// and its supervisor alone.
func neverWait(fd int) error {
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return err
	}
	switch info.Mode & unix.S_IFMT {
	case unix.S_IFSOCK:
		return unix.SetNonblock(fd, true)
	case unix.S_IFIFO, unix.S_IFCHR:
		again, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd),
			unix.O_WRONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(again)
		_, _ = unix.FcntlInt(uintptr(again), unix.F_SETPIPE_SZ, pipeSize) // a terminal has none, and a smaller pipe does
		return unix.Dup3(again, fd, 0)
	}
	return nil // writes to files do not wait for a reader
}
