package harness

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// asClock is the environment variable with which this test binary answers every line with its wall
// clock and with the time since its start by its monotonic clock, in nanoseconds.
const asClock = "HARNESS_CLOCK"

func tellClock() {
	began := time.Now()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println(time.Now().UnixNano(), int64(time.Since(began)))
	}
	os.Exit(0)
}

// teller is a process that runs this test binary with asClock.
type teller struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Scanner
	r   *Replica
}

func newTeller(t *testing.T) *teller {
	t.Helper()
	if err := mayClock(); err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asClock+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		close(ended)
	})
	return &teller{t: t, in: in, out: bufio.NewScanner(out), r: &Replica{ID: "rm1", cmd: cmd, ended: ended}}
}

// off returns the difference between the process's wall clock and that of this process, and the
// process's monotonic time. It asks again if the answer took so long that the difference is not
// exact.
func (c *teller) off() (off, mono time.Duration) {
	c.t.Helper()
	for {
		began := time.Now()
		if off, mono = c.ask(); time.Since(began) < time.Second/2 {
			return off, mono
		}
	}
}

func (c *teller) ask() (off, mono time.Duration) {
	c.t.Helper()
	fmt.Fprintln(c.in)
	if !c.out.Scan() {
		c.t.Fatalf("it says nothing: %v", c.out.Err())
	}
	wall, since, _ := strings.Cut(c.out.Text(), " ")
	w, err := strconv.ParseInt(wall, 10, 64)
	if err != nil {
		c.t.Fatal(err)
	}
	s, _ := strconv.ParseInt(since, 10, 64)
	return time.Duration(w - time.Now().UnixNano()), time.Duration(s)
}

func near(d, want, within time.Duration) bool { return d > want-within && d < want+within }

// TestMoveClock checks that the wall clock of one process jumps in both directions and can be set
// right again. Its monotonic clock and the clocks of this process do not jump.
func TestMoveClock(t *testing.T) {
	c := newTeller(t)
	if off, _ := c.off(); !near(off, 0, time.Second) {
		t.Fatalf("it begins %s apart", off)
	}
	before := time.Now().UnixNano()
	_, mono := c.off()
	for _, step := range []time.Duration{time.Hour, -time.Hour, 1500 * time.Millisecond, -1500 * time.Millisecond,
		3650 * 24 * time.Hour, -1, 999_999_999} {
		if err := c.r.MoveClock(step, 0); err != nil {
			t.Fatal(err)
		}
		off, now := c.off()
		if !near(off, step, time.Second) {
			t.Errorf("moved by %s, it is off by %s", step, off)
		}
		if now < mono || now > mono+time.Minute {
			t.Errorf("moved by %s, its timers went from %s to %s", step, mono, now)
		}
		mono = now
	}
	if time.Now().UnixNano()-before > int64(time.Minute) {
		t.Error("this process's clock was moved")
	}
	for range 20 { // install and remove the hook repeatedly, whatever the threads do
		if err := c.r.RightClock(); err != nil {
			t.Fatal(err)
		}
		if off, _ := c.off(); !near(off, 0, time.Second) {
			t.Fatalf("set right, it is off by %s", off)
		}
		if err := c.r.MoveClock(time.Hour, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDriftingClock checks that a drifting clock gains until it is set right.
func TestDriftingClock(t *testing.T) {
	c := newTeller(t)
	if err := c.r.MoveClock(time.Hour, 100_000); err != nil { // it gains a hundred seconds per second
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		off, _ := c.off()
		if off > time.Hour+10*time.Second {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("it has not drifted: %s", off)
		}
	}
	if err := c.r.RightClock(); err != nil {
		t.Fatal(err)
	}
	if off, _ := c.off(); !near(off, 0, time.Second) {
		t.Errorf("set right, it is off by %s", off)
	}
}
