//go:build !linux

package logwriter

import "os"

// Detach makes no difference on this system: only writes through a Writer do not wait.
func Detach() *os.File { return os.Stderr }
