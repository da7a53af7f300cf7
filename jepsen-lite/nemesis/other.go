package nemesis

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"rmd/jepsen-lite/harness"
	"rmd/jepsen-lite/history"
)

// Others returns backups, recoveries and combined faults.
func Others() []Fault {
	return []Fault{
		{Name: "backup", Kind: harness.Backup, Text: "a snapshot is saved under load, and restored into a fresh cluster",
			Inject: backup},
		{Name: "recover", Kind: harness.Recover,
			Text: "all replicas but the furthest one are lost for good, and a cluster is made of it", Inject: recoverOne},
		{Name: "overlap", Kind: harness.Crash,
			Text: "a follower is paused and the leader killed, so that three replicas have no majority; both come back at once",
			Hold: seconds(0.5, 3), Inject: overlap},
	}
}

// backup saves a snapshot and restores it into a cluster of one replica. The restored cluster must
// have applications and an epoch.
func backup(ctx context.Context, e *Env) (Heal, error) {
	leader, voters := e.members(ctx)
	if leader == nil {
		return nil, ErrNotNow
	}
	e.recordVictims("%s", []*harness.Replica{leader}, leader.ID)
	dir, err := os.MkdirTemp(e.Cluster.Dir(), "backup-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "state")
	if err := e.cli(ctx, history.TakeSnapshot, history.Value{Replica: voters[0].ID}, "snapshot", "save",
		file); err != nil {
		return nil, err
	}
	text, err := e.Cluster.CLI(ctx, "snapshot", "inspect", file, "-o", "json")
	if err != nil {
		e.violated("S15", "a snapshot that was saved under load is refused: %v", err)
		return nil, err
	}
	return nil, e.restoreElsewhere(ctx, dir, file, text)
}

// restoreElsewhere restores a file into a new cluster of one replica.
func (e *Env) restoreElsewhere(ctx context.Context, dir, file, inspected string) error {
	var was struct {
		Index uint64 `json:"index"`
	}
	if err := json.Unmarshal([]byte(inspected), &was); err != nil {
		return fmt.Errorf("read what \"snapshot inspect\" says: %w", err)
	}
	cfg := e.Cluster.Another(filepath.Join(dir, "fresh"))
	c, err := harness.Open(cfg, harness.Offer{Network: harness.Loopback, Disk: harness.Directory})
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, healWithin)
	defer cancel()
	if err := c.Bootstrap(ctx); err != nil {
		return err
	}
	if _, err := c.CLI(ctx, "snapshot", "restore", file); err != nil {
		e.violated("S15", "a snapshot of index %d cannot be restored into a fresh cluster: %v", was.Index, err)
		return err
	}
	facts, err := c.Facts(ctx, c.Replicas[0])
	if err != nil {
		return err
	}
	if facts.Totals.Apps == 0 || facts.Epoch == 0 {
		e.violated("S15", "a restored cluster has %d applications and epoch %d", facts.Totals.Apps, facts.Epoch)
	}
	e.moment.Text += fmt.Sprintf("; index %d restored with %d applications, epoch %d", was.Index,
		facts.Totals.Apps, facts.Epoch)
	return nil
}

// recoverOne loses every replica except the one with the newest log, and makes a cluster of that
// one by hand. No acknowledged write is lost, because its log contains all of them.
func recoverOne(ctx context.Context, e *Env) (Heal, error) {
	_, voters := e.members(ctx)
	if len(voters) < 3 {
		return nil, ErrNotNow
	}
	e.recordVictims("%s", voters, names(voters))
	e.Replaces()
	for _, r := range voters {
		if err := r.Kill(); err != nil {
			return nil, err
		}
	}
	best, err := e.furthest(ctx, voters)
	if err != nil {
		return nil, err
	}
	peers := filepath.Join(e.Cluster.Dir(), "peers.json")
	text := fmt.Sprintf(`[{"id":%q,"address":%q,"non_voter":false}]`, best.ID, best.Place.Peer)
	if err := os.WriteFile(peers, []byte(text), 0o600); err != nil {
		return nil, err
	}
	var lost []string
	for _, r := range voters {
		if r != best {
			lost = append(lost, r.ID)
		}
	}
	if _, err := e.Cluster.CLI(ctx, "recover", "--data", best.Dir, "--peers", peers, "--without", strings.Join(lost, ","),
		"--yes", "-o", "json"); err != nil {
		e.violated("recover", "the log of %s cannot be made a cluster of: %v", best.ID, err)
		return nil, err
	}
	e.Record.Note(&history.Replica{ID: best.ID, Kind: history.Start, Incarnation: best.Runs() + 1, Fresh: true})
	e.moment.Text += ", of " + best.ID
	if err := e.restart(ctx, best); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		for _, r := range voters {
			if r == best {
				continue
			}
			if err := r.Wipe(); err != nil {
				return err
			}
			if err := e.join(ctx, r); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// furthest returns the replica with the highest last term and index. "rmd check" reads them from
// its disk.
func (e *Env) furthest(ctx context.Context, of []*harness.Replica) (*harness.Replica, error) {
	var best *harness.Replica
	var term, last uint64
	for _, r := range of {
		text, err := e.Cluster.CLI(ctx, "check", "--data", r.Dir, "-o", "json")
		if err != nil {
			e.violated("S16", "the disk of %s is not whole after a kill: %v", r.ID, err)
			return nil, err
		}
		var doc struct {
			Last     uint64 `json:"last_index"`
			LastTerm uint64 `json:"last_term"`
		}
		if err := json.Unmarshal([]byte(text), &doc); err != nil {
			return nil, fmt.Errorf("read what \"check\" says: %w", err)
		}
		if best == nil || doc.LastTerm > term || doc.LastTerm == term && doc.Last > last {
			best, term, last = r, doc.LastTerm, doc.Last
		}
	}
	return best, nil
}

// overlap pauses a follower and kills the leader, so that a cluster of three replicas has no
// majority. Then both come back at once.
func overlap(ctx context.Context, e *Env) (Heal, error) {
	leader, other, err := e.follower(ctx)
	if err != nil {
		return nil, err
	}
	_, voters := e.members(ctx)
	e.moment.OnLeader = true
	e.recordVictims("%s paused, %s killed", []*harness.Replica{other, leader}, other.ID, leader.ID)
	if err := other.Pause(); err != nil {
		return nil, err
	}
	sleep(ctx, seconds(0, 0.5)(e.Rand))
	err = leader.Kill()
	return func(ctx context.Context) error {
		if err := leader.Start(); err != nil {
			return err
		}
		if err := other.Resume(); err != nil {
			return err
		}
		for _, r := range voters {
			if err := e.awaitBack(ctx, r); err != nil {
				return err
			}
		}
		return nil
	}, err
}
