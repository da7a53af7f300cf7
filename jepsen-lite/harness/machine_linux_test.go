package harness

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asEcho is the environment variable with which this test binary becomes an echo server. Its value
// is the address.
const asEcho = "HARNESS_ECHO"

func TestMain(m *testing.M) {
	if os.Getenv(asClock) != "" {
		tellClock()
	}
	if at := os.Getenv(asEcho); at != "" {
		l, err := net.Listen("tcp", at)
		if err != nil {
			os.Exit(1)
		}
		for {
			if c, err := l.Accept(); err == nil {
				go func() {
					defer c.Close()
					io.Copy(c, c)
				}()
			}
		}
	}
	os.Exit(m.Run())
}

// loopOf returns a loop device of mib MiB. It skips the test if the machine does not support loop
// devices.
func loopOf(t *testing.T, mib int) Disk {
	t.Helper()
	if err := mayLoop(t.TempDir()); err != nil {
		t.Skip(err)
	}
	d, err := newLoop(filepath.Join(t.TempDir(), "disk"), mib)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() }) // the test has checked what it needs
	return d
}

// TestPowerCut checks that synced data survives a power cut and unsynced data is lost. Every access
// fails until the disk is mounted again.
func TestPowerCut(t *testing.T) {
	d := loopOf(t, 32)
	if err := d.Remount(false); err != nil { // make the directory itself durable
		t.Fatal(err)
	}
	write := func(name string, sync bool) {
		f, err := os.Create(filepath.Join(d.Dir(), name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(name); err != nil {
			t.Fatal(err)
		}
		if sync {
			if err := f.Sync(); err != nil {
				t.Fatal(err)
			}
		}
	}
	write("synced", true)
	write("late", false)
	if err := d.PowerCut(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.Dir(), "after"), nil, 0o600); err == nil {
		t.Error("a write after the power was cut succeeds")
	}
	if err := d.Remount(false); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(d.Dir(), "synced")); err != nil || string(b) != "synced" {
		t.Errorf("what was synced is %q: %v", b, err)
	}
	if b, _ := os.ReadFile(filepath.Join(d.Dir(), "late")); string(b) == "late" {
		t.Error("what was never synced is there")
	}
}

// TestRemountWaitsForNamespaces checks that Remount waits for processes in other mount namespaces,
// which any tool on the machine may start. They keep the file system that was shut down mounted
// until they end.
func TestRemountWaitsForNamespaces(t *testing.T) {
	d := loopOf(t, 32)
	if err := d.Remount(false); err != nil {
		t.Fatal(err)
	}
	holder := exec.Command("unshare", "--mount", "sh", "-c", "echo; sleep 1")
	out, err := holder.StdoutPipe()
	if err == nil {
		err = holder.Start()
	}
	if err != nil {
		t.Skip(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.PowerCut(), d.Remount(false)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.Dir(), "x"), nil, 0o600); err != nil {
		t.Error(err)
	}
	if err := holder.Wait(); err != nil {
		t.Error(err)
	}
}

func TestFillAndFree(t *testing.T) {
	d := loopOf(t, 32)
	free := func() uint64 {
		var s syscall.Statfs_t
		if err := syscall.Statfs(d.Dir(), &s); err != nil {
			t.Fatal(err)
		}
		return s.Bavail * uint64(s.Bsize)
	}
	before := free()
	if err := d.Fill(4 << 20); err != nil {
		t.Fatal(err)
	}
	if n := free(); n > 5<<20 || n < 3<<20 {
		t.Errorf("%d bytes are free, 4 MiB were to be left", n)
	}
	if err := d.Fill(0); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.Dir(), "x"), make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a write on a full disk: %v", err)
	}
	os.Remove(filepath.Join(d.Dir(), "x"))
	if err := d.Free(); err != nil || free() < before-1<<20 {
		t.Errorf("%d bytes are free again, it were %d: %v", free(), before, err)
	}
}

// TestNamespaces cuts a link for one sender and one direction at a time.
func TestNamespaces(t *testing.T) {
	if err := mayNamespace(); err != nil {
		t.Skip(err)
	}
	n, err := newNamespaces()
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	p, err := n.Add("rm1")
	if err != nil {
		t.Fatal(err)
	}
	argv := n.Wrap("rm1", []string{os.Args[0]})
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), asEcho+"="+p.HTTPListen)
	cmd.SysProcAttr = childAttributes()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	ask := func() error {
		c, err := net.DialTimeout("tcp", p.HTTP, 500*time.Millisecond)
		if err != nil {
			return err
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(500 * time.Millisecond))
		c.Write([]byte("x\n"))
		_, err = bufio.NewReader(c).ReadString('\n')
		return err
	}
	reached := func(when string) {
		t.Helper()
		for end := time.Now().Add(patience); ask() != nil; {
			if time.Now().After(end) {
				t.Fatalf("%s, a process in a namespace is not reached", when)
			}
		}
	}
	reached("at first")
	for _, k := range []link{{Outside, "rm1"}, {"rm1", Outside}} {
		for _, how := range []Cut{Drop, Reject} {
			if err := n.Cut(k.from, k.to, how); err != nil {
				t.Fatal(err)
			}
			if err := ask(); err == nil {
				t.Errorf("%v cut by %d is passed", k, how)
			}
			if err := n.Heal(); err != nil {
				t.Fatal(err)
			}
			reached(fmt.Sprintf("%v healed", k))
		}
	}
}

// TestNamespacesCleanup checks that Close removes all interfaces, although a process that ends
// slowly still holds its namespace. The next network uses the same names.
func TestNamespacesCleanup(t *testing.T) {
	if err := mayNamespace(); err != nil {
		t.Skip(err)
	}
	n, err := newNamespaces()
	if err != nil {
		t.Fatal(err)
	}
	_, err = n.Add("rm1")
	argv := n.Wrap("rm1", []string{os.Args[0]})
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), asEcho+"=127.0.0.1:0")
	cmd.SysProcAttr = childAttributes()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatalf("start of a process in a new namespace: %v", errors.Join(err, n.Close()))
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	inside := "/proc/" + strconv.Itoa(cmd.Process.Pid) + "/ns/net"
	outside, _ := os.Readlink("/proc/self/ns/net")
	for at := outside; at == outside; time.Sleep(time.Millisecond) {
		if at, err = os.Readlink(inside); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if strings.HasPrefix(i.Name, n.name+"v") || i.Name == n.name {
			t.Errorf("%s is left", i.Name)
		}
	}
}
