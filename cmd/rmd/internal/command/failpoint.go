package command

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
	"rmd/internal/point"
)

// listen reads failpoints from standard input, a line each, for rmd-chaos:
//
//	batch.proposed 3 0s       the process is killed when it comes there for the third time
//	batch.proposed 1 500ms    whoever comes there first waits for half a second
//	none                      neither
//
// It returns once the first line is in force, so that a failpoint can be one of the start.
func (f *failpoint) listen(in io.Reader) error {
	lines := bufio.NewScanner(in)
	if lines.Scan() {
		if err := f.set(lines.Text()); err != nil {
			return err
		}
	}
	point.Set(f.hit)
	go func() { // it ends with the input, or with the process
		for lines.Scan() {
			if err := f.set(lines.Text()); err != nil {
				fmt.Fprintln(f.err, err) // who wrote it reads it in the log
			}
		}
	}()
	return nil
}

// failpoint ends or delays this process at one place of its code.
type failpoint struct {
	err    io.Writer
	action atomic.Pointer[failpointAction] // nil: none
}

// failpointAction is what happens, and where.
type failpointAction struct {
	at   point.Name
	left atomic.Int64  // times that the place is passed until it happens
	hold time.Duration // 0: the process is killed
}

// set reads a line.
func (f *failpoint) set(line string) error {
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
	for _, name := range point.All() {
		if string(name) == words[0] {
			action := &failpointAction{at: name, hold: hold}
			action.left.Store(n)
			f.action.Store(action)
			return nil
		}
	}
	return bad
}

// hit is called at every failpoint that is reached.
func (f *failpoint) hit(n point.Name) {
	action := f.action.Load()
	if action == nil || action.at != n || action.left.Add(-1) != 0 {
		return
	}
	fmt.Fprintf(f.err, "point %s reached\n", n)
	if action.hold > 0 {
		time.Sleep(action.hold)
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // nothing is flushed, handed over or said
	select {}
}
