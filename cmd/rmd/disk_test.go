package main

import (
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"rmd/api"
	"rmd/internal/exitcode"
	"rmd/scheduler/input"
)

// onSmallDisk gives the replica a file system of its own in memory, with the options of tmpfs. It
// skips the test if none can be mounted.
func (p *process) onSmallDisk(t *testing.T, options string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", p.dir, "tmpfs", 0, options); err != nil {
		t.Skipf("a small file system cannot be mounted: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(p.dir, syscall.MNT_DETACH) })
}

// TestFullDisk fills the disk of a follower. Status, health, REST and the web page must say which
// replica's disk is full, and how full it is.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	c := newProcesses(t, 3, calm, "  bootstrap_expect: 3\n", "")
	for _, p := range c.all {
		p.onSmallDisk(t, "size=300m,mode=0700")
		c.start(p)
	}
	c.awaitReady(c.all...)
	victim := c.others(c.leader())[0]
	fill := filepath.Join(victim.dir, "fill")
	if err := os.WriteFile(fill, make([]byte, 270<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	var h api.Health
	c.await("the replica says that its disk is full", patience, func() bool {
		return c.get(victim, "/v1/health", &h) && strings.Contains(h.Problem, "disk full: ") &&
			strings.Contains(h.Problem, "below disk.stop, 64 MiB")
	})
	says := victim.id + ": disk full: "
	for _, p := range c.all {
		contains(t, "status", c.done("cluster", "status", "--addr", p.http), "degraded", says)
		_, errs, code := c.rmd("cluster", "health", "--addr", p.http)
		if code != 9 {
			t.Errorf("health ended with %d", code)
		}
		contains(t, "health", errs, says)
		contains(t, "JSON", c.done("cluster", "status", "-o", "json", "--addr", p.http), `"disk_full": true`,
			`"problem": "disk full: `)
		resp, err := http.Get("http://" + p.http + "/ui/cluster")
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		contains(t, "the page", string(page), says)
	}
	if err := os.Remove(fill); err != nil {
		t.Fatal(err)
	}
	c.await("all is well", patience, func() bool {
		var d api.Cluster
		return c.get(victim, "/v1/cluster", &d) && d.Verdict.Status == "healthy"
	})
}

// TestDiskWithoutSpace leaves less space on a follower's disk than the next entry needs. It must end
// with the code for failed writes, propose nothing that costs the data, and take part again once there
// is space.
func TestDiskWithoutSpace(t *testing.T) {
	t.Parallel()
	c := newProcesses(t, 3, calm, "  bootstrap_expect: 3\n", "disk:\n  reserve: 1MiB\n  stop: 1MiB\n")
	for _, p := range c.all {
		p.onSmallDisk(t, "size=200m,mode=0700")
		c.start(p)
	}
	c.awaitReady(c.all...)
	call := newCaller(t, c.addrs())
	victim := c.others(c.leader())[0]
	fill := filepath.Join(victim.dir, "fill")
	f, err := os.Create(fill)
	if err != nil {
		t.Fatal(err)
	}
	free := func() uint64 {
		var s syscall.Statfs_t
		if err := syscall.Statfs(victim.dir, &s); err != nil {
			t.Fatal(err)
		}
		return s.Bavail * uint64(s.Bsize)
	}
	for free() > 1536<<10 { // above disk.stop, so that the replica still writes
		if _, err := f.Write(make([]byte, 64<<10)); err != nil {
			t.Fatal(err)
		}
	}
	_ = f.Close()
	for !strings.Contains(victim.logged(), "no space left on device") {
		must[*input.SubmitApplicationReply](call,
			&input.SubmitApplication{User: "ann", Queue: "root.batch", Unmanaged: true, Context: make([]byte, 3<<20)})
	}
	if code := c.exited(victim); code != exitcode.WriteFailed {
		t.Errorf("it ended with %d, not %d", code, exitcode.WriteFailed)
	}
	contains(t, victim.id, victim.logged(),
		"no space left on device; free space on this file system, or raise the quota, and start the replica again; keep its data")
	if strings.Contains(victim.logged(), "wipe") {
		t.Errorf("it proposes to wipe:\n%s", victim.logged())
	}
	c.refuses(victim, exitcode.DiskFull, "free space there")
	if err := os.Remove(fill); err != nil {
		t.Fatal(err)
	}
	c.start(victim)
	c.awaitReady(victim)
}

// TestStartOnUnwritableDisk starts a replica on a full disk, and on one that cannot be written. The
// error must name the disk and say what to do.
func TestStartOnUnwritableDisk(t *testing.T) {
	t.Parallel()
	c := newProcesses(t, 1, calm, "", "")
	p := c.all[0]
	p.onSmallDisk(t, "size=10m,mode=0700")
	c.refuses(p, 71, "CANNOT_START", "disk is full: ", "free space there, or lower disk.stop")
	if err := syscall.Mount("", p.dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	c.refuses(p, 8, "NOT_WRITABLE", p.dir, "read-only file system", "mount it writable")
}

// onFreezableDisk gives the replica a file system of its own, and returns a function that blocks all
// writes to it, or lets them go on. It skips the test if none can be mounted.
func (p *process) onFreezableDisk(t *testing.T) (freeze func(frozen bool)) {
	t.Helper()
	image := filepath.Join(t.TempDir(), "disk")
	f, err := os.Create(image)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(300<<20), f.Close()); err != nil {
		t.Fatal(err)
	}
	mount := filepath.Dir(p.dir) + "/mount-" + p.id
	if err := os.Mkdir(mount, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"mkfs.ext4", "-q", "-F", image}, {"mount", "-o", "loop", image, mount}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Skipf("a small file system cannot be mounted: %v: %s", err, out)
		}
	}
	const fifreeze, fithaw = 0xc0045877, 0xc0045878
	freeze = func(frozen bool) {
		dir, err := os.Open(mount)
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		request := uint(fithaw)
		if frozen {
			request = fifreeze
		}
		// it was not frozen
		if err := unix.IoctlSetInt(int(dir.Fd()), request, 0); err != nil && (frozen || !errors.Is(err, unix.EINVAL)) {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		freeze(false)
		_ = syscall.Unmount(mount, syscall.MNT_DETACH)
	})
	if err := errors.Join(os.Remove(p.dir), os.Mkdir(filepath.Join(mount, "data"), 0o700),
		os.Symlink(filepath.Join(mount, "data"), p.dir)); err != nil {
		t.Fatal(err)
	}
	return freeze
}

// withFreezableDisk starts three replicas, of which the returned one is on a disk of its own.
func withFreezableDisk(t *testing.T, settings string) (c *processes, victim *process, freeze func(frozen bool)) {
	t.Helper()
	c = newProcesses(t, 3, calm, "  bootstrap_expect: 3\n", settings)
	victim = c.all[0]
	freeze = victim.onFreezableDisk(t)
	for _, p := range c.all {
		c.start(p)
	}
	c.awaitReady(c.all...)
	return c, victim, freeze
}

// TestHungDisk blocks the writes of the leader. It must give up leadership after disk.give_up_after,
// and end after disk.exit_after, both long before the defaults.
func TestHungDisk(t *testing.T) {
	t.Parallel()
	c, victim, freeze := withFreezableDisk(t, "disk:\n  give_up_after: 1s\n  exit_after: 3s\n")
	c.await("the replica with this disk leads", patience, func() bool {
		_, _, _ = c.rmd("cluster", "transfer", victim.id) // it may lead already
		return c.get(victim, "/v1/leader?role=leader", nil)
	})
	freeze(true)
	logs := func(pattern string) func() bool {
		re := regexp.MustCompile(pattern)
		return func() bool { return re.MatchString(victim.logged()) }
	}
	c.await("it gives up leadership", patience, logs(`must not lead: .*a disk write has not returned for [1-4]s`))
	c.await("it ends", patience, logs(`disk hung: a write has not returned for ([3-9]|1[0-9])s`))
	freeze(false)
	if code := c.exited(victim); code != exitcode.DiskHung {
		t.Errorf("it ended with %d, not %d", code, exitcode.DiskHung)
	}
	c.start(victim)
	c.awaitReady(c.all...)
}

// TestTrailingLogs blocks the writes of a follower, which goes on to answer. The leader must call it
// unhealthy once it lags by more entries than autopilot.max_trailing_logs, and healthy again later.
func TestTrailingLogs(t *testing.T) {
	t.Parallel()
	c, victim, freeze := withFreezableDisk(t,
		"disk:\n  exit_after: 10m\nautopilot:\n  max_trailing_logs: 3\n  last_contact_threshold: 1h\n")
	var leader *process
	c.await("another replica leads", patience, func() bool {
		_, _, _ = c.rmd("cluster", "transfer", c.all[1].id) // it may lead already
		leader = c.leader()
		return leader != victim
	})
	healthy := func() bool {
		var doc api.AutopilotState
		return c.get(leader, "/v1/autopilot", &doc) && doc.Healthy
	}
	c.await("all are healthy", patience, healthy)
	freeze(true)
	call := newCaller(t, c.addrs())
	for range 10 {
		must[*input.SubmitApplicationReply](call, &input.SubmitApplication{User: "ann", Queue: "root.batch", Unmanaged: true})
	}
	c.await("it trails too far", patience, func() bool { return !healthy() })
	freeze(false)
	c.await("all are healthy again", patience, healthy)
}
