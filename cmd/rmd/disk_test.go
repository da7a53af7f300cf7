package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"rmd/internal/exitcode"
	"rmd/scheduler/input"
	"rmd/transport/http/v1/api"
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
		return c.get(victim, "/v1/health", &h) && strings.Contains(h.Problem, "disk full: ") && strings.Contains(h.Problem, "below disk.stop, 64 MiB")
	})
	says := victim.id + ": disk full: "
	for _, p := range c.all {
		contains(t, "status", c.done("cluster", "status", "--addr", p.http), "degraded", says)
		_, errs, code := c.rmd("cluster", "health", "--addr", p.http)
		if code != 9 {
			t.Errorf("health ended with %d", code)
		}
		contains(t, "health", errs, says)
		contains(t, "JSON", c.done("cluster", "status", "-o", "json", "--addr", p.http), `"disk_full": true`, `"problem": "disk full: `)
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
		must[*input.SubmitApplicationReply](call, &input.SubmitApplication{User: "ann", Queue: "root.batch", Unmanaged: true, Context: make([]byte, 3<<20)})
	}
	if code := c.exited(victim); code != exitcode.WriteFailed {
		t.Errorf("it ended with %d, not %d", code, exitcode.WriteFailed)
	}
	contains(t, victim.id, victim.logged(), "no space left on device; free space on this file system, or raise the quota, and start the replica again; keep its data")
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
