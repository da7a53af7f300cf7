package harness

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// loopDisk is a Disk with its own file system on a loop device.
type loopDisk struct {
	image, mount string
	mounted      bool
	frozen       bool
}

// goingDown is the ioctl that shuts down an ext4 or xfs file system: _IOR('X', 125, __u32). With
// noLogFlush, the file system does not flush its journal, as after a power cut.
const (
	goingDown  = 0x8004587d
	noLogFlush = 2
)

// freeze and thaw are the ioctls FIFREEZE, _IOWR('X', 119, int), and FITHAW, _IOWR('X', 120, int).
const (
	freeze = 0xc0045877
	thaw   = 0xc0045878
)

// The names of the file that fills a disk, and of the directory whose files take its inodes.
const (
	filler      = "filler"
	inodeFiller = "inodes"
)

// inodes is the number of inodes of a disk, about. A replica needs a few dozen.
const inodes = "1024"

func newLoop(dir string, mb int) (Disk, error) {
	d := &loopDisk{image: dir + ".img", mount: dir}
	f, err := os.OpenFile(d.image, os.O_CREATE|os.O_RDWR|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(f.Truncate(int64(mb)<<20), f.Close(), os.MkdirAll(dir, 0o700)); err != nil {
		return nil, err
	}
	if err := run("mkfs.ext4", "-q", "-F", "-m", "0", "-N", inodes, "-E", "lazy_itable_init=1,lazy_journal_init=1",
		d.image); err != nil {
		return nil, err
	}
	if err := d.mountFS(false); err != nil {
		return nil, err
	}
	return d, os.MkdirAll(d.Dir(), 0o700)
}

// Kind implements Disk.
func (d *loopDisk) Kind() string { return Loop }

// Dir implements Disk.
func (d *loopDisk) Dir() string { return filepath.Join(d.mount, "data") }

func (d *loopDisk) mountFS(readOnly bool) error {
	option := "loop,rw"
	if readOnly {
		option = "loop,ro"
	}
	if err := run("mount", "-o", option, d.image, d.mount); err != nil {
		return err
	}
	d.mounted = true
	return nil
}

// unmountFS unmounts the file system. The kernel may need a moment after the last process has
// ended.
func (d *loopDisk) unmountFS() error {
	if !d.mounted {
		return nil
	}
	var err error
	for range 50 {
		if err = syscall.Unmount(d.mount, 0); err == nil {
			d.mounted = false
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("unmount %s: %w", d.mount, err)
}

// PowerCut implements Disk.
func (d *loopDisk) PowerCut() error {
	f, err := os.Open(d.mount)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.IoctlSetPointerInt(int(f.Fd()), goingDown, noLogFlush); err != nil {
		return fmt.Errorf("shut the file system %s down: %w", d.mount, err)
	}
	return nil
}

// Remount implements Disk. If another process creates a mount namespace at the same time, that
// namespace keeps the old file system for a moment. The kernel then mounts the same file system
// again, still shut down. Remount tries again until a write succeeds.
func (d *loopDisk) Remount(readOnly bool) error {
	var err error
	for range 50 {
		if err := d.unmountFS(); err != nil {
			return err
		}
		if err := d.mountFS(readOnly); err != nil {
			return err
		}
		if readOnly {
			return nil
		}
		trial := filepath.Join(d.mount, "trial")
		if err = errors.Join(os.WriteFile(trial, nil, 0o600), os.Remove(trial)); !errors.Is(err, syscall.EIO) {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("mount %s: %w", d.mount, err)
}

// Fill implements Disk.
func (d *loopDisk) Fill(leave int64) error {
	var s unix.Statfs_t
	if err := unix.Statfs(d.mount, &s); err != nil {
		return fmt.Errorf("ask for the free space of %s: %w", d.mount, err)
	}
	more := int64(s.Bavail)*s.Bsize - leave
	f, err := os.OpenFile(filepath.Join(d.mount, filler), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	// The replica also writes to the disk, and the file system keeps some space for itself. Fill
	// therefore allocates smaller pieces when a piece does not fit.
	at, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	for step := more; step >= s.Bsize && more > 0; {
		step = min(step, more)
		switch err := unix.Fallocate(int(f.Fd()), 0, at, step); {
		case err == nil:
			at, more = at+step, more-step
		case errors.Is(err, unix.ENOSPC):
			step /= 2
		default:
			return errors.Join(fmt.Errorf("fill %s: %w", d.mount, err), f.Close())
		}
	}
	return f.Close()
}

// FillInodes implements Disk.
func (d *loopDisk) FillInodes() error {
	dir := filepath.Join(d.mount, inodeFiller)
	if err := os.MkdirAll(dir, 0o700); err != nil && !errors.Is(err, unix.ENOSPC) {
		return err
	}
	for {
		f, err := os.CreateTemp(dir, "")
		switch {
		case errors.Is(err, unix.ENOSPC):
			return nil
		case err != nil:
			return fmt.Errorf("take the inodes of %s: %w", d.mount, err)
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
}

// Free implements Disk.
func (d *loopDisk) Free() error {
	return errors.Join(os.RemoveAll(filepath.Join(d.mount, filler)), os.RemoveAll(filepath.Join(d.mount, inodeFiller)))
}

// Freeze implements Disk.
func (d *loopDisk) Freeze() error { return d.hold(freeze, true) }

// Thaw implements Disk.
func (d *loopDisk) Thaw() error {
	if !d.frozen {
		return nil
	}
	return d.hold(thaw, false)
}

func (d *loopDisk) hold(request uint, frozen bool) error {
	f, err := os.Open(d.mount)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.IoctlSetInt(int(f.Fd()), request, 0); err != nil {
		return fmt.Errorf("freeze or thaw the file system %s: %w", d.mount, err)
	}
	d.frozen = frozen
	return nil
}

// Close implements Disk.
func (d *loopDisk) Close() error { return errors.Join(d.Thaw(), d.unmountFS()) }

// mayLoop returns nil if file systems on loop devices can be created, mounted and shut down here.
// The error says why not.
func mayLoop(dir string) error {
	if os.Geteuid() != 0 {
		return errors.New("needs root")
	}
	for _, tool := range []string{"mkfs.ext4", "mount"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%s is not installed", tool)
		}
	}
	probe := filepath.Join(dir, "probe-disk")
	defer os.RemoveAll(probe)
	defer os.Remove(probe + ".img")
	d, err := newLoop(probe, 16)
	if err != nil {
		return err
	}
	if err = d.PowerCut(); err == nil {
		err = d.Remount(false)
	}
	return errors.Join(err, d.Close())
}

// mayTrace returns nil if strace can change the system calls of another process of this user.
func mayTrace() error {
	if _, err := exec.LookPath("strace"); err != nil {
		return errors.New("strace is not installed")
	}
	if b, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope"); err == nil && strings.TrimSpace(string(b)) != "0" &&
		os.Geteuid() != 0 {
		return errors.New("kernel.yama.ptrace_scope keeps this user from it")
	}
	sleeper := exec.Command("sleep", "30")
	sleeper.SysProcAttr = childAttributes()
	if err := sleeper.Start(); err != nil {
		return err
	}
	defer func() {
		_ = sleeper.Process.Kill()
		_ = sleeper.Wait() // it was killed
	}()
	t, err := traceProcess(sleeper.Process.Pid, "fsync:error=EIO")
	if err != nil {
		return err
	}
	return t.Stop()
}
