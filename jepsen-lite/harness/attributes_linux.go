package harness

import "syscall"

// childAttributes puts a process in its own process group, so that a signal from the terminal does
// not reach it. The kernel kills the process when this one ends.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
