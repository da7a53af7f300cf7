package result

import (
	"syscall"
	"time"
)

// Usage returns the CPU time of this process so far, and its maximum memory in bytes.
func Usage() (cpu time.Duration, memory int64) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), u.Maxrss << 10
}
