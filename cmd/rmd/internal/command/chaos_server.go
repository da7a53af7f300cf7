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

// chaosServer is the command "server" with ears: it reads on its standard input at
// which named place of its own code it is to be gone, or to stand still.
//
//	batch.proposed 3 0s       it is killed when it comes there for the third time
//	batch.proposed 1 500ms    whoever comes there first waits for half a second
//	none                      neither
//
// The first line is read before the replica opens its data. Nothing else differs.
func (p *program) chaosServer() verb {
	v := p.server()
	v.usage, v.hidden = "run one replica that can be told where to crash, as rmd chaos run does", true
	v.long = "Standard input says at which place of internal/point the process ends: NAME COUNT SPAN, or none."
	v.run = func(c *call) error {
		lines := bufio.NewScanner(c.p.In)
		a := &ambush{err: c.p.Err}
		if lines.Scan() {
			if err := a.set(lines.Text()); err != nil {
				return err
			}
		}
		point.Set(a.hit)
		go func() { // it ends with the input, or with the process
			for lines.Scan() {
				if err := a.set(lines.Text()); err != nil {
					fmt.Fprintln(c.p.Err, err) // who wrote it reads it in the log
				}
			}
		}()
		return runServer(c)
	}
	return v
}

// ambush waits at one place.
type ambush struct {
	err  io.Writer
	trap atomic.Pointer[trap]
}

type trap struct {
	at   point.Name
	left atomic.Int64 // times that it is passed until it snaps
	hold time.Duration
}

// set reads a line.
func (a *ambush) set(line string) error {
	f := strings.Fields(line)
	if len(f) == 1 && f[0] == "none" {
		a.trap.Store(nil)
		return nil
	}
	bad := clierr.Usagef("write NAME COUNT SPAN, as in batch.proposed 3 0s, or none", "%q names no place to crash at", line)
	if len(f) != 3 {
		return bad
	}
	n, err := strconv.ParseInt(f[1], 10, 64)
	if err != nil || n < 1 {
		return bad
	}
	hold, err := time.ParseDuration(f[2])
	if err != nil || hold < 0 {
		return bad
	}
	for _, name := range point.All() {
		if string(name) == f[0] {
			t := &trap{at: name, hold: hold}
			t.left.Store(n)
			a.trap.Store(t)
			return nil
		}
	}
	return bad
}

// hit is told of every place that is come to.
func (a *ambush) hit(n point.Name) {
	t := a.trap.Load()
	if t == nil || t.at != n || t.left.Add(-1) != 0 {
		return
	}
	fmt.Fprintf(a.err, "point %s reached\n", n)
	if t.hold > 0 {
		time.Sleep(t.hold)
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // nothing is flushed, handed over or said
	select {}
}
