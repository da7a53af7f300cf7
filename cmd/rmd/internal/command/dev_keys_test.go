package command

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"rmd/cmd/rmd/internal/command/replica"
)

// devScreen is a run of rmd dev in a pseudo-terminal of 80 by 24.
type devScreen struct {
	t    *testing.T
	keys *os.File
	cmd  *exec.Cmd
	seen seen
	from int // where the part of seen begins that await has not matched
}

func openDev(t *testing.T, args ...string) *devScreen {
	t.Helper()
	outer, inner := terminal(t)
	if err := unix.IoctlSetWinsize(int(inner.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	x := &devScreen{t: t, keys: outer, cmd: exec.CommandContext(t.Context(), "rmd", append([]string{"dev"}, args...)...)}
	x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = inner, inner, inner
	if err := x.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go x.seen.read(outer)
	return x
}

// press types a key.
func (x *devScreen) press(key string) {
	x.t.Helper()
	if _, err := x.keys.WriteString(key); err != nil {
		x.t.Fatal(err)
	}
}

// await waits until what was drawn since its last match matches, and returns the groups.
func (x *devScreen) await(pattern string) []string {
	x.t.Helper()
	re := regexp.MustCompile(pattern)
	var text string
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		text = x.seen.text()
		if m := re.FindStringSubmatch(text[x.from:]); m != nil {
			x.from = len(text)
			return m
		}
	}
	x.t.Fatalf("the screen does not show %q:\n%s", pattern, text[max(0, len(text)-4000):])
	return nil
}

// TestDevKeys runs rmd dev in a terminal, kills the leader with a key, starts it again, takes the power
// from a node, submits a large job, looks at the addresses, and stops.
func TestDevKeys(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs a cluster")
	}
	t.Parallel()
	base, err := freeBase(15000)
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(base)
	x := openDev(t, "--port", port)
	x.await(`healthy +leader rm\d .*3 of 3 in step`)
	x.await(`containers +[1-9]\d*, 4 of 4 nodes alive`)
	x.press("k")
	m := x.await(`kill -9 (rm\d): (rm\d) leads after \d+ ms, next container after (\d+) ms`)
	if m[1] == m[2] || m[3] == "0" {
		t.Errorf("%q: the leader follows itself, or there was no gap", m[0])
	}
	victim := m[1]
	m = x.await(`(?:reservations kept (\d+) of (\d+)|reservations: none to keep), containers lost (\d+) of (\d+)`)
	if m[1] != m[2] || m[3] != "0" {
		t.Errorf("%q: something was lost", m[0])
	}
	x.await(`degraded +leader rm\d .*2 of 3 in step +can lose 0`)
	x.await(`replicas .*` + victim + ` dead`)
	x.press("w") // the commands to paste are for a replica that runs
	up := base
	if victim == "rm1" {
		up += replica.DevStep
	}
	x.await(fmt.Sprintf(`rmd cluster status --addr 127\.0\.0\.1:%d`, up))
	x.press("w")
	x.press("k")
	x.await(`not killed: 2 of 3 replicas run, and 2 are needed: press b first`)
	x.press("b")
	x.await(`rm\d starts again with its disk`)
	x.await(`healthy +leader rm\d .*3 of 3 in step +can lose 1`)
	x.press("n")
	x.await(`sim-04 has no power`)
	x.await(`, 3 of \d nodes alive`)
	x.press("b") // its message takes the place of the other
	x.await(`all replicas run`)
	x.await(`nodes +sim-04 off`)
	x.press("n")
	x.await(`, 4 of 4 nodes alive`)
	x.press("j")
	x.await(`job whole-node .*(reserved sim-0\d|started after)`)
	x.press("w")
	x.await(`http://127\.0\.0\.1:` + port + `/ui/`)
	x.await(`rmd cluster status --addr 127\.0\.0\.1:` + port)
	x.await(`w or Esc closes the addresses`)
	for _, shut := range []string{"w", "\x1b"} {
		x.press(shut)
		x.await(`applications +\d+ running(?s:.*)w addresses`)
		x.press("w")
		x.await(`w or Esc closes the addresses`)
	}
	x.press("q")
	x.await(`stopping`)
	if err := x.cmd.Wait(); err != nil {
		t.Errorf("rmd dev ends with %v", err)
	}
	for _, m := range regexp.MustCompile(`\x1b\[(\d+)A`).FindAllStringSubmatch(x.seen.text(), -1) {
		if n, _ := strconv.Atoi(m[1]); n > 20 { // 24 without the cursor's and three of the greeting
			t.Errorf("a picture of %d lines scrolls the greeting away", n)
		}
	}
	for line := range strings.SplitSeq(regexp.MustCompile(`\x1b\[\d*[A-Za-z]`).ReplaceAllString(x.seen.text(), ""), "\n") {
		line = strings.Trim(line, "\r")
		if n := len([]rune(line)); n > 80 && !strings.HasPrefix(line, "log file: ") { // the path depends on the machine
			t.Errorf("%d columns: %q", n, line)
		}
	}
	for i := range 3 {
		if r := rmd(t, nil, "cluster", "status", "--timeout", "1", "--addr",
			fmt.Sprintf("127.0.0.1:%d", base+replica.DevStep*i)); r.exit == 0 {
			t.Errorf("replica %d still runs:\n%s", i+1, r.out)
		}
	}
}
