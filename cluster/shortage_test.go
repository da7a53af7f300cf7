package cluster

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"rmd/cluster/offline"
)

// useUp lowers the limit of file descriptors and opens all but a given number of them. giveBack
// closes them and restores the limit.
func useUp(t *testing.T, but int) (giveBack func()) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	low := limit
	low.Cur = 200
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	var taken []*os.File
	for {
		f, err := os.Open(os.DevNull)
		if err != nil {
			break
		}
		taken = append(taken, f)
	}
	if len(taken) < but {
		t.Fatalf("%d descriptors are free", len(taken))
	}
	for _, f := range taken[:but] {
		_ = f.Close()
	}
	done := false
	giveBack = func() {
		if done {
			return
		}
		done = true
		for _, f := range taken[but:] {
			_ = f.Close()
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(giveBack)
	return giveBack
}

// TestNoDescriptorLeft checks that a leader without file descriptors continues to commit. Its
// snapshot fails or succeeds, depending on how many descriptors are free, and leaves no unfinished
// files.
func TestNoDescriptorLeft(t *testing.T) {
	r := newReplica(t, "rm1", nil).start()
	leadAlone(t, r)
	one := []*replica{r}
	put(t, one, 3)
	for free := range 4 {
		giveBack := useUp(t, free)
		put(t, one, 1)
		err := r.c.Snapshot()
		text := r.c.core.Guard.ShortageText()
		giveBack()
		if err == nil && free == 0 || err != nil &&
			(!errors.Is(err, syscall.EMFILE) && !strings.Contains(err.Error(), "too many open files") || text == "") {
			t.Errorf("with %d free descriptors: %v, status %q", free, err, text)
		}
		select {
		case f := <-r.fatal:
			t.Fatalf("with %d free descriptors it ended with %d: %v", free, f.Code, f.Err)
		default:
		}
		if list, err := os.ReadDir(r.dir + "/" + snapshotsDir); err != nil || len(list) > 2 {
			t.Errorf("with %d free descriptors: %v %v", free, list, err)
		}
	}
	put(t, one, 1)
	if err := r.c.Snapshot(); err != nil {
		t.Fatal(err)
	}
	r.stop()
	if rep, err := offline.Check(r.dir, verifyTestSnap); err != nil || len(rep.Snapshots) == 0 {
		t.Errorf("Check after the shortage: %v, %d snapshots, want no error and at least one", err, len(rep.Snapshots))
	}
}

// TestRestartWithoutDescriptors checks that a restart of raft in place waits for file descriptors.
func TestRestartWithoutDescriptors(t *testing.T) {
	r := newReplica(t, "rm1", nil).start()
	leadAlone(t, r)
	put(t, []*replica{r}, 3)
	if err := r.c.Snapshot(); err != nil {
		t.Fatal(err)
	}
	giveBack := useUp(t, 0)
	done := make(chan struct{})
	go func() { r.c.runs.restart("test"); close(done) }()
	time.Sleep(200 * time.Millisecond)
	giveBack()
	select {
	case <-done:
	case f := <-r.fatal:
		t.Fatalf("it ended with %d: %v", f.Code, f.Err)
	case <-time.After(patience):
		t.Fatal("it does not come back")
	}
	elect(t, r)
	put(t, []*replica{r}, 1)
}
