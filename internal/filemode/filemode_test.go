package filemode

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// other is the number of a user and a group that this process is not.
const other = 20_000

// create makes a file or a directory with a mode and an owner.
func create(t *testing.T, mode fs.FileMode, uid, gid int) fs.FileInfo {
	t.Helper()
	at := filepath.Join(t.TempDir(), "x")
	err := os.WriteFile(at, nil, 0o600)
	if mode.IsDir() {
		err = os.Mkdir(at+"d", 0o700)
		at += "d"
	}
	if err == nil {
		err = os.Chown(at, uid, gid)
	}
	if err == nil {
		err = os.Chmod(at, mode&^fs.ModeDir)
	}
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(at)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestSecret(t *testing.T) {
	uid, gid := os.Geteuid(), os.Getegid()
	for mode, want := range map[fs.FileMode]bool{0o600: true, 0o400: true, 0o644: false, 0o604: false, 0o660: false,
		0o620: false, 0o610: false} {
		if got := Secret(create(t, mode, uid, gid)); got != want {
			t.Errorf("Secret with mode %#o: %t", mode, got)
		}
	}
	if uid != 0 {
		t.Skip("only root can make files of others")
	}
	for _, c := range []struct {
		mode     fs.FileMode
		uid, gid int
		want     bool
	}{
		{0o440, 0, gid, true}, {0o640, 0, gid, true},
		{0o444, 0, gid, false}, {0o460, 0, gid, false}, {0o440, 0, other, false}, {0o440, other, gid, false},
	} {
		if got := Secret(create(t, c.mode, c.uid, c.gid)); got != c.want {
			t.Errorf("Secret with mode %#o, owner %d, group %d: %t", c.mode, c.uid, c.gid, got)
		}
	}
}

func TestShared(t *testing.T) {
	uid, gid := os.Geteuid(), os.Getegid()
	if _, ok := Shared(create(t, fs.ModeDir|0o770, uid, gid)); ok {
		t.Error("a directory without setgid is shared")
	}
	if got, ok := Shared(create(t, fs.ModeDir|fs.ModeSetgid|0o770, uid, gid)); !ok || int(got) != gid {
		t.Errorf("Shared: %d, %t; want %d", got, ok, gid)
	}
	if uid != 0 {
		t.Skip("only root can make files of others")
	}
	if _, ok := Shared(create(t, fs.ModeDir|fs.ModeSetgid|0o770, uid, other)); ok {
		t.Error("a directory of another group is shared")
	}
}
