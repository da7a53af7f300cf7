//go:build !linux

package harness

import "syscall"

// childAttributes puts a process in its own process group, so that a signal from the terminal does
// not reach it.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
