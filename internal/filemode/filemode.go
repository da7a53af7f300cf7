// Package filemode says who may read a secret file.
package filemode

import (
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// Secret reports whether only this user can read a file. In a volume of Kubernetes, root owns the
// file, and its group may also read it if this process is in that group (fsGroup).
func Secret(info fs.FileInfo) bool {
	mode := info.Mode().Perm()
	if mode&0o077 == 0 {
		return true
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && mode&0o037 == 0 && st.Uid == 0 && InGroup(st.Gid)
}

// Shared returns the group that may use a directory together with its owner: it has the bit setgid,
// as Kubernetes sets it with fsGroup, and this process is in the group.
func Shared(dir fs.FileInfo) (gid uint32, ok bool) {
	st, known := dir.Sys().(*syscall.Stat_t)
	if !known || dir.Mode()&fs.ModeSetgid == 0 || !InGroup(st.Gid) {
		return 0, false
	}
	return st.Gid, true
}

// InGroup reports whether this process is in a group.
func InGroup(gid uint32) bool {
	groups, err := os.Getgroups()
	return os.Getegid() == int(gid) || err == nil && slices.Contains(groups, int(gid))
}
