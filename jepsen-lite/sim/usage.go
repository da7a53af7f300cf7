//go:build !wasip1

package sim

import (
	"syscall"
	"time"
)

// usage is what this process has used so far: CPU time, and the most memory it ever held, in bytes.
func usage() (cpu time.Duration, memory int64) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), u.Maxrss << 10
}
