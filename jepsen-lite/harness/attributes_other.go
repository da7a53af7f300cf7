//go:build !linux

package harness

import "syscall"

// childAttributes put a process in a group of its own, so that a signal from the
// terminal does not reach it.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
