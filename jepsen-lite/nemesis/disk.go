package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"rmd/jepsen-lite/harness"
)

// Exit codes of a replica whose disk fails, is full, or hangs.
const (
	exitFull  = 71
	exitHung  = 72
	exitWrite = 76
)

// Disks returns the faults of disks below a running replica.
func Disks() []Fault {
	return []Fault{
		{Name: "power-cut", Kind: harness.PowerLoss,
			Text: "one replica's file system loses what was not synced, and its process", Hold: seconds(0, 2), Inject: powerCut},
		{Name: "power-cut-all", Kind: harness.PowerLoss, Text: "the same to all replicas at once", Inject: powerCutAll},
		{Name: "disk-reserve", Kind: harness.DiskFull, Disk: true, Text: "a disk with less than the reserve free",
			Hold: seconds(3, 8), Inject: fill(harness.ReserveMB*3/4, false)},
		{Name: "disk-stop", Kind: harness.DiskFull, Disk: true, Text: "a disk with less than the stop level free",
			Hold: seconds(3, 8), Inject: fill(harness.StopMB*3/4, false)},
		{Name: "disk-full", Kind: harness.DiskFull, Disk: true, Text: "a disk with no byte free", Hold: seconds(3, 8),
			Inject: fill(0, true)},
		{Name: "no-inodes", Kind: harness.DiskFull, Disk: true,
			Text: "a file system with space but no inode: snapshots fail, the log goes on", Hold: seconds(0, 4),
			Inject: noInodes},
		{Name: "fsync-fails", Kind: harness.SyncFails, Disk: true, Text: "every sync fails with EIO", Inject: syncFails},
		{Name: "write-fails", Kind: harness.SyncFails, Disk: true, Text: "writes fail with ENOSPC", Inject: writeFails},
		{Name: "slow-disk", Kind: harness.SlowDisk, Disk: true, Text: "every sync takes 20 to 500 ms longer",
			Hold: seconds(3, 10), Inject: slowDisk},
		{Name: "hung-disk", Kind: harness.HungDisk, Disk: true, Text: "writes and syncs do not return; then they do",
			Inject: hungDisk},
		{Name: "short-hang", Kind: harness.HungDisk, Disk: true, Text: "the same for 1 to 12 s, which a replica survives",
			Hold: seconds(1, 12), Inject: shortHang},
	}
}

func powerCut(ctx context.Context, e *Env) (Heal, error) {
	r, err := e.victim(ctx)
	if err != nil {
		return nil, err
	}
	e.recordVictims("%s", []*harness.Replica{r}, r.ID)
	return func(ctx context.Context) error {
		if err := r.Disk.Remount(false); err != nil {
			return err
		}
		return e.restart(ctx, r)
	}, cutPower(r)
}

func cutPower(r *harness.Replica) error {
	r.Expect() // it may notice the fault before the kill
	return errors.Join(r.Disk.PowerCut(), r.Kill())
}

func powerCutAll(ctx context.Context, e *Env) (Heal, error) {
	leader, voters := e.members(ctx)
	if leader == nil {
		return nil, ErrNotNow
	}
	e.recordVictims("%s", voters, names(voters))
	var err error
	for _, r := range voters {
		err = errors.Join(err, cutPower(r))
	}
	return func(ctx context.Context) error {
		for _, r := range voters {
			if err := errors.Join(r.Disk.Remount(false), r.Start()); err != nil {
				return err
			}
		}
		for _, r := range voters {
			if err := e.awaitBack(ctx, r); err != nil {
				return err
			}
		}
		return nil
	}, err
}

// fill leaves leaveMB MiB of the disk free. Only if mayEnd is true may the replica end.
func fill(leaveMB int64, mayEnd bool) func(context.Context, *Env) (Heal, error) {
	return func(ctx context.Context, e *Env) (Heal, error) {
		r, err := e.victim(ctx)
		if err != nil {
			return nil, err
		}
		e.recordVictims("%s, %d MiB left", []*harness.Replica{r}, r.ID, leaveMB)
		if mayEnd {
			r.Expect()
		}
		began := time.Now()
		return func(ctx context.Context) error {
			if !mayEnd && !r.Running() {
				e.violated("disk", "%s ended %s after its disk had %d MiB left; it was to go on without writing", r.ID,
					time.Since(began).Round(time.Second), leaveMB)
			}
			if err := r.Disk.Free(); err != nil {
				return err
			}
			return e.restart(ctx, r)
		}, r.Disk.Fill(leaveMB << 20)
	}
}

// noInodes takes all inodes of a replica's file system. The replica must go on with its log and say
// that it cannot write snapshots, until it can again.
func noInodes(ctx context.Context, e *Env) (Heal, error) {
	r, err := e.victim(ctx)
	if err != nil {
		return nil, err
	}
	e.recordVictims("%s", []*harness.Replica{r}, r.ID)
	heal := func(ctx context.Context) error {
		if !r.Running() {
			e.violated("disk", "%s ended although its log needs no inode: %s", r.ID, lastLines(r.Said(4000), 3))
		}
		if err := errors.Join(r.Disk.Free(), e.restart(ctx, r)); err != nil {
			return err
		}
		return await(ctx, r.ID+" writes a snapshot and says nothing more of it", healWithin, func() bool {
			_, err := e.Cluster.TakeSnapshot(ctx, r)
			told, answers := e.snapshotsFail(ctx, r)
			return err == nil && answers && !told
		})
	}
	if err := r.Disk.FillInodes(); err != nil {
		return heal, err
	}
	if err := await(ctx, "it tells", noticeWithin, func() bool {
		if _, err := e.Cluster.TakeSnapshot(ctx, r); err == nil {
			_ = r.Disk.FillInodes() // it was being written, and then the one before it was removed
		}
		told, _ := e.snapshotsFail(ctx, r)
		return told
	}); err != nil && r.Running() {
		e.violated("health", "%s does not say within %s that it cannot write snapshots", r.ID, noticeWithin)
	}
	return heal, nil
}

// snapshotsFail returns whether a replica says that it cannot write snapshots, and whether it
// answers at all.
func (e *Env) snapshotsFail(ctx context.Context, r *harness.Replica) (told, answers bool) {
	var h struct{ Problem string }
	err := e.Cluster.Get(ctx, r, "/v1/health", &h)
	return strings.Contains(h.Problem, "background jobs fail: snapshot"), err == nil
}

// awaitFatalExit waits until a replica ends by itself because of a fault, with one of the exit
// codes for it.
func (e *Env) awaitFatalExit(ctx context.Context, r *harness.Replica, within time.Duration, codes ...int) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	x, err := r.AwaitExit(ctx)
	if err != nil {
		e.violated("disk", "%s did not end within %s of %s", r.ID, within, e.moment.Fault)
		return err
	}
	for _, c := range codes {
		if x.Code == c {
			e.moment.Text += fmt.Sprintf("; ended with %d after %s", c, x.At.Sub(e.moment.Began).Round(time.Millisecond))
			return nil
		}
	}
	e.violated("disk", "%s ended with %d because of %s; expected %v: %s", r.ID, x.Code, e.moment.Fault, codes,
		lastLines(x.Said, 3))
	return nil
}

// noticeWithin is how long a replica may take to notice that its disk fails. It writes all the
// time.
const noticeWithin = 15 * time.Second

func syncFails(ctx context.Context, e *Env) (Heal, error) {
	return injected(ctx, e, "fsync,fdatasync:error=EIO", noticeWithin, exitWrite)
}

func writeFails(ctx context.Context, e *Env) (Heal, error) {
	return injected(ctx, e, "pwrite64:error=ENOSPC", noticeWithin, exitWrite, exitFull)
}

// injected changes the results of a replica's system calls until the replica ends.
func injected(ctx context.Context, e *Env, calls string, within time.Duration, codes ...int) (Heal, error) {
	r, err := e.victim(ctx)
	if err != nil {
		return nil, err
	}
	e.recordVictims("%s", []*harness.Replica{r}, r.ID)
	r.Expect()
	t, err := r.Inject(calls)
	if err != nil {
		return func(ctx context.Context) error { return e.restart(ctx, r) }, err
	}
	err = e.awaitFatalExit(ctx, r, within, codes...)
	return func(ctx context.Context) error {
		if err := errors.Join(t.Stop(), r.Kill()); err != nil {
			return err
		}
		return e.restart(ctx, r)
	}, err
}

func slowDisk(ctx context.Context, e *Env) (Heal, error) {
	r, err := e.victim(ctx)
	if err != nil {
		return nil, err
	}
	late := time.Duration(20+e.Rand.IntN(480)) * time.Millisecond
	e.recordVictims("%s by %s", []*harness.Replica{r}, r.ID, late)
	t, err := r.Inject(fmt.Sprintf("fsync,fdatasync:delay_enter=%d", late.Microseconds()))
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		if err := t.Stop(); err != nil {
			return err
		}
		return e.awaitBack(ctx, r)
	}, nil
}

// hungAfter is longer than a replica waits for a hung disk before it ends (disk.exit_after, 20 s).
const hungAfter = 26 * time.Second

// hungDisk freezes a disk for longer than a replica waits. The kernel does not end the process
// while its write is blocked, so it can only end after the thaw. The other replicas must have
// continued long before.
func hungDisk(ctx context.Context, e *Env) (Heal, error) {
	r, err := e.victim(ctx)
	if err != nil {
		return nil, err
	}
	e.recordVictims("%s", []*harness.Replica{r}, r.ID)
	r.Expect()
	if err := r.Disk.Freeze(); err != nil {
		return nil, err
	}
	sleep(ctx, hungAfter)
	return func(ctx context.Context) error {
		if err := r.Disk.Thaw(); err != nil {
			return err
		}
		if ctx.Err() == nil {
			_ = e.awaitFatalExit(ctx, r, 5*time.Second, exitHung) // ends reports what is wrong
		}
		return errors.Join(r.Kill(), e.restart(ctx, r))
	}, nil
}

// shortHang freezes a disk for less time than a replica waits.
func shortHang(ctx context.Context, e *Env) (Heal, error) {
	r, err := e.victim(ctx)
	if err != nil {
		return nil, err
	}
	e.recordVictims("%s", []*harness.Replica{r}, r.ID)
	return func(ctx context.Context) error {
		if err := r.Disk.Thaw(); err != nil {
			return err
		}
		return e.awaitBack(ctx, r)
	}, r.Disk.Freeze()
}
