//go:build !linux

package harness

func newLoop(string, int) (Disk, error) { return nil, errLinux }

func mayLoop(string) error { return errLinux }

func mayTrace() error { return errLinux }
