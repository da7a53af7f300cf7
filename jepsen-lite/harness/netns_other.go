//go:build !linux

package harness

import "errors"

var errLinux = errors.New("needs Linux")

func newNamespaces() (Network, error) { return nil, errLinux }

func mayNamespace() error { return errLinux }

func mayNetem() error { return errLinux }
