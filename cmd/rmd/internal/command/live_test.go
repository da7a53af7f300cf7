package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"rmd/api"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/internal/exitcode"
)

// queueFile writes a valid queue configuration and returns its name.
func queueFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "queues.json")
	if err := os.WriteFile(path,
		[]byte(`{"properties":{"yarn.scheduler.capacity.root.queues":"a","yarn.scheduler.capacity.root.a.capacity":"100"}}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// terminal opens a pseudo-terminal of 80 columns and 20 lines.
func terminal(t *testing.T) (outer, inner *os.File) {
	t.Helper()
	outer, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("there are no pseudo-terminals: %v", err)
	}
	n, err := unix.IoctlGetInt(int(outer.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(outer.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(outer.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 20, Col: 80})
	}
	if err == nil {
		inner, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Skipf("there are no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { _ = outer.Close(); _ = inner.Close() })
	return outer, inner
}

// seen collects what a program writes to its terminal.
type seen struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *seen) read(f *os.File) {
	b := make([]byte, 4096)
	for {
		n, err := f.Read(b)
		s.mu.Lock()
		s.b.Write(b[:n])
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (s *seen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (s *seen) await(t *testing.T, what string) {
	t.Helper()
	if err := until(time.Minute, what+" is on the screen", func() error {
		if !strings.Contains(s.text(), what) {
			return errors.New("it is not there")
		}
		return nil
	}); err != nil {
		t.Fatalf("%v\n%q", err, s.text())
	}
}

// TestTopKeys presses every key of `rmd top`.
func TestTopKeys(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs a cluster")
	}
	s := stage0.ready(t)
	outer, inner := terminal(t)
	cmd := exec.CommandContext(t.Context(), "rmd", "top", "--every", "300ms", "--addr", s.env["RMD_ADDR"])
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inner, inner, inner
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	screen := &seen{}
	go screen.read(outer)
	screen.await(t, "\x1b[?1049h")
	screen.await(t, "by app, sorted: -wait")
	screen.await(t, " WHY") // what people look for has room on 80 columns
	screen.await(t, "q quit  p pause")
	for _, step := range []struct{ key, want string }{
		{"p", "PAUSED, p continues"}, {"s", "sorted: id"}, {"r", "sorted: -id"}, {"p", ""}, {"b", "by queue, sorted: no"},
		{"s", "sorted: queue"},
		{"b", "by node, sorted: -used"}, {"+", "interval 250ms"}, {"-", "interval 500ms"}, {"q", "\x1b[?25h\x1b[?1049l"},
	} {
		if _, err := outer.WriteString(step.key); err != nil {
			t.Fatal(err)
		}
		screen.await(t, step.want)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%q", err, screen.text())
	}
	for line := range strings.SplitSeq(screen.text(), "\r\n") {
		for _, code := range []string{"\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l", "\x1b[H", "\x1b[K", "\x1b[J",
			"\x1b[?1049h", "\x1b[?25l"} {
			line = strings.ReplaceAll(line, code, "")
		}
		if n := len([]rune(line)); n > 80 && !strings.Contains(line, "q quit") {
			t.Errorf("%d columns: %q", n, line)
		}
	}
}

// TestFollowReadsMissingEntries checks that follow reads missing entries from the log when the
// stream refuses them as too old, and reports those that are only in a snapshot.
func TestFollowReadsMissingEntries(t *testing.T) {
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last := r.Header.Get("Last-Event-ID")
		switch {
		case r.URL.Path == "/v1/log":
			from, _ := strconv.ParseUint(r.URL.Query().Get("from"), 10, 64)
			d := api.Log{First: 12, Last: 14}
			for i := max(from, 12); i <= 14; i++ {
				events := []api.Event{{Kind: "ReservationMade", App: anApp}, {Kind: "NodeLost"}}
				if slices.Equal(r.URL.Query()["kind"], []string{"ReservationMade"}) {
					events = events[:1]
				}
				d.Entries = append(d.Entries, api.LogEntry{Index: i, AtMillis: 5000, Events: events})
			}
			_ = json.NewEncoder(w).Encode(d)
		case last == "10" || last == "9":
			w.WriteHeader(http.StatusGone)
			_ = json.NewEncoder(w).Encode(api.Error{Code: api.CodeTooOld, Message: "too old"})
		default:
			asked = append(asked, last)
			b, _ := json.Marshal(api.EventBatch{Index: 15, NowMillis: 6000, Events: []api.Event{{Kind: "ReservationMade"}}})
			fmt.Fprintf(w, ": hello\n\nid: 15\nevent: batch\ndata: %s\n\n", b)
		}
	}))
	defer s.Close()
	var out, errs bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p := verb.Streams{In: strings.NewReader(""), Out: writerFunc(func(b []byte) (int, error) {
		if strings.Contains(string(b), `"index":15`) {
			cancel()
		}
		return out.Write(b)
	}), Err: &errs, Width: 80, Env: func(string) (string, bool) { return "", false }}
	code := Run(ctx, []string{"rmd", "events", "--follow", "--after", "10", "--kind", "reservationmade", "-o", "jsonl",
		"--addr", s.URL}, p)
	var indexes []string
	for line := range strings.Lines(out.String()) {
		var b api.EventBatch
		if err := json.Unmarshal([]byte(line), &b); err != nil || len(b.Events) != 1 {
			t.Errorf("line of events --follow -o jsonl: %d events, decoding: %v, want 1 event; line %q",
				len(b.Events), err, line)
		}
		indexes = append(indexes, strconv.FormatUint(b.Index, 10))
	}
	if code != exitcode.OK || strings.Join(indexes, " ") != "12 13 14 15" || !slices.Equal(asked, []string{"14"}) {
		t.Errorf("exit %d, entries %v, streams behind %q\n%s", code, indexes, asked, errs.String())
	}
	if !strings.Contains(errs.String(), "entries 11 to 11 are no longer in the log, only in a snapshot") {
		t.Errorf("nothing is said of what is lost: %s", errs.String())
	}
}

// TestStopFollowing checks that Ctrl-C ends --follow without an error even while the command waits
// for an answer about the past, and that the same command without --follow fails then.
func TestStopFollowing(t *testing.T) {
	for _, command := range []string{"events --since 1h", "log show", "audit tail"} {
		for _, follow := range []bool{true, false} {
			ctx, cancel := context.WithCancel(t.Context())
			s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				cancel()
				<-r.Context().Done()
			}))
			var errs bytes.Buffer
			p := verb.Streams{In: strings.NewReader(""), Out: io.Discard, Err: &errs, Width: 80,
				Env: func(string) (string, bool) { return "", false }}
			args, want := append([]string{"rmd", "--addr", s.URL}, strings.Fields(command)...), exitcode.Failure
			if follow {
				args, want = append(args, "--follow"), exitcode.OK
			}
			if code := Run(ctx, args, p); code != want || (errs.Len() == 0) != follow {
				t.Errorf("%q, stopped: exit %d, stderr %q; want exit %d", args[3:], code, errs.String(), want)
			}
			s.Close()
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
