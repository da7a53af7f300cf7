package replica

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"rmd/cmd/internal/clierr"
	"rmd/internal/failpoint"
)

// listen reads failpoints from in, one per line. rmd-chaos writes them:
//
//	batch.proposed 3 0s       the process is killed when it reaches the failpoint for the third time
//	batch.proposed 1 500ms    the goroutine that reaches it first waits for half a second
//	none                      no failpoint is set
//
// It returns after the first line is in force, so that a failpoint can be hit during the start.
func (f *failpointListener) listen(in io.Reader) error {
	lines := bufio.NewScanner(in)
	if lines.Scan() {
		if err := f.set(lines.Text()); err != nil {
			return err
		}
	}
	failpoint.Set(f.hit)
	go func() { // the goroutine ends with the input or the process
		for lines.Scan() {
			if err := f.set(lines.Text()); err != nil {
				fmt.Fprintln(f.err, err) // rmd-chaos reads the log
			}
		}
	}()
	return nil
}

// failpointListener kills or delays this process at one failpoint.
type failpointListener struct {
	err    io.Writer
	action atomic.Pointer[failpointAction] // nil: none
}

// failpointAction is the action at one failpoint.
type failpointAction struct {
	at   failpoint.Name
	left atomic.Int64  // number of hits until the action
	hold time.Duration // 0: the process is killed
}

// set parses a line and makes it the current action.
func (f *failpointListener) set(line string) error {
	words := strings.Fields(line)
	if len(words) == 1 && words[0] == "none" {
		f.action.Store(nil)
		return nil
	}
	bad := clierr.Usagef("write NAME COUNT SPAN, as in batch.proposed 3 0s, or none", "%q names no failpoint", line)
	if len(words) != 3 {
		return bad
	}
	n, err := strconv.ParseInt(words[1], 10, 64)
	if err != nil || n < 1 {
		return bad
	}
	hold, err := time.ParseDuration(words[2])
	if err != nil || hold < 0 {
		return bad
	}
	for _, name := range failpoint.All() {
		if string(name) == words[0] {
			action := &failpointAction{at: name, hold: hold}
			action.left.Store(n)
			f.action.Store(action)
			return nil
		}
	}
	return bad
}

// hit is called whenever a failpoint is reached.
func (f *failpointListener) hit(n failpoint.Name) {
	action := f.action.Load()
	if action == nil || action.at != n || action.left.Add(-1) != 0 {
		return
	}
	fmt.Fprintf(f.err, "failpoint %s reached\n", n)
	if action.hold > 0 {
		time.Sleep(action.hold)
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // without a flush or a transfer of leadership
	select {}
}
