package replica

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"rmd/cluster"
	"rmd/cluster/offline"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/fsm"
	"rmd/fsm/event"
	"rmd/internal/bytesize"
	"rmd/server"
	"rmd/snapshot"
)

// CheckVerb returns the command that checks a data directory.
func CheckVerb() verb.Verb {
	return verb.Verb{
		Name: "check", Usage: "check an offline data directory: log, checksums, snapshots, store; or what Kerberos needs",
		Long: "It changes nothing. Exit 9 if it finds a fault.",
		Flags: []cli.Flag{verb.Fill(verb.Files, &cli.StringFlag{Name: "data", Usage: "the data directory"}),
			&cli.BoolFlag{Name: "kerberos",
				Usage: "check realm, names, keytabs, DNS, KDC and clock on a replica's machine instead"},
			verb.Fill(verb.Files, &cli.StringFlag{Name: "conf-dir",
				Usage: "with --kerberos: directory of Hadoop's files [$HADOOP_CONF_DIR]"}),
			&cli.StringFlag{Name: "id", Usage: "with --kerberos: id of the replica, if Hadoop's files have keys of several"}},
		Examples: []string{"rmd check --data /var/lib/rmd", "rmd check --kerberos --conf-dir /etc/hadoop/conf --id rm1"},
		Surplus: func(c *verb.Call) error {
			if c.IsSet("data") || c.Bool("kerberos") {
				return nil
			}
			return clierr.Usagef("write --data "+c.Arg(0), "too many arguments: %q", c.Arg(0))
		},
		Run: func(c *verb.Call) error {
			if c.Bool("kerberos") {
				return checkKerberos(c)
			}
			dir := c.String("data")
			if err := needDir(dir); err != nil {
				return err
			}
			if err := actAsOwner(dir); err != nil {
				return err
			}
			rep, err := offline.Check(dir, server.VerifySnapshot)
			if _, refused := errors.AsType[*cluster.Refusal](err); refused {
				return err
			}
			if errors.Is(err, cluster.ErrModes) {
				return openError(err)
			}
			doc, merr := json.Marshal(rep)
			if merr != nil {
				return merr
			}
			if perr := verb.ShowFacts(c, func() string { return dir }, func(context.Context) ([]byte, []output.Fact, error) {
				return doc, checkFacts(rep), nil
			}); perr != nil {
				return perr
			}
			if errors.Is(err, cluster.ErrNewer) {
				return &clierr.Error{Code: clierr.CodeCheck, What: dir + ": " + err.Error(),
					Do: "check it with the newer rmd", Err: err}
			}
			if err != nil {
				return &clierr.Error{Code: clierr.CodeCheck, What: dir + ": " + err.Error(),
					Do: "do not start a replica on it; use its own good disk, or " + cluster.Replace("ID"), Err: err}
			}
			return nil
		},
	}
}

// actAsOwner makes root act as the owner of a data directory from here on. A replica refuses a
// directory with files of another user, and root would leave such files there.
func actAsOwner(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 || st.Uid == 0 {
		return nil
	}
	_ = verb.LoginName() // remembers who runs the command, for the audit
	uid, gid := int(st.Uid), int(st.Gid)
	if err := errors.Join(syscall.Setgroups([]int{gid}), syscall.Setgid(gid), syscall.Setuid(uid)); err != nil {
		return fmt.Errorf("act as the owner of %s, uid %d: %w", dir, uid, err)
	}
	return nil
}

// needDir refuses a directory that does not exist, because the check would create it.
func needDir(dir string) error {
	if dir == "" {
		return clierr.Usagef("write --data DIR", "the data directory is not named")
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return clierr.New(clierr.CodeFile, "name a data directory", "%s is not a directory", dir)
	}
	return nil
}

func checkFacts(r offline.Report) []output.Fact {
	facts := []output.Fact{
		{Name: "replica", Value: string(r.Identity.ServerID())},
		{Name: "cluster", Value: strings.TrimSpace(r.Identity.ClusterName + " " + r.Identity.ClusterID)},
		{Name: "last stop", Value: map[bool]string{true: "unclean", false: "clean"}[r.Unclean]},
		{Name: "term", Value: output.Number(r.Term)},
		{Name: "log", Value: fmt.Sprintf("entries %s to %s, last term %d", output.Count(r.First),
			output.Count(r.Last), r.LastTerm)},
		{Name: "store", Value: bytesize.Format(r.StoreBytes)},
		{Name: "membership", Value: fmt.Sprintf("at index %d: voters %s", r.ConfIndex, strings.Join(r.Voters, ", "))},
		{Name: "nonvoters", Value: strings.Join(r.Nonvoters, ", ")},
	}
	for _, s := range r.Snapshots {
		facts = append(facts, output.Fact{Name: "snapshot",
			Value: fmt.Sprintf("%s at index %s", s.ID, output.Count(s.Index))})
	}
	for _, d := range r.Damaged {
		facts = append(facts, output.Fact{Name: "DAMAGED", Value: d})
	}
	if r.Dropped {
		facts = append(facts, output.Fact{Name: "note",
			Value: "a start discards the log, because it does not continue the snapshot"})
	}
	return facts
}

// RecoverVerb returns the command that makes a cluster out of one replica.
func RecoverVerb() verb.Verb {
	return verb.Verb{
		Name: "recover", Usage: "create a cluster from one surviving disk when the majority is lost for good",
		Long: "If enough replicas can come back to form a majority, start them instead.\n" +
			"Otherwise stop every replica, run \"rmd check\" on each surviving disk, choose the one with the highest last term " +
			"and index, and copy its data directory. Recover only this one: a second recovery makes a second cluster. " +
			"--peers FILE contains [{\"id\":\"rm1\",\"address\":\"10.0.0.11:8034\",\"non_voter\":false}].",
		Flags: []cli.Flag{
			verb.Fill(verb.Files, &cli.StringFlag{Name: "data", Usage: "data directory of the surviving replica"}),
			verb.Fill(verb.Files, &cli.StringFlag{Name: "peers",
				Usage: "file with the surviving replica as the member of the new cluster"}),
			&cli.StringFlag{Name: "without", Usage: "ids of all other voters, whose disks are given up"},
			verb.DryRunFlag(), verb.YesFlag(),
		},
		Examples: []string{"rmd recover --data /var/lib/rmd --peers peers.json --without rm2,rm3 --dry-run"},
		Run:      runRecover,
	}
}

func runRecover(c *verb.Call) error {
	dir := c.String("data")
	if err := needDir(dir); err != nil {
		return err
	}
	if c.String("peers") == "" {
		return clierr.Usagef("write --peers FILE", "the members of the new cluster are not named")
	}
	b, err := verb.ReadFile(c.String("peers"), 1<<20)
	if err != nil {
		return err
	}
	peers, err := offline.ParsePeers(b)
	if err != nil {
		return clierr.New(clierr.CodeConfig, "write [{\"id\":\"rm1\",\"address\":\"10.0.0.11:8034\",\"non_voter\":false}]",
			"%s: %v", c.String("peers"), err)
	}
	if err := actAsOwner(dir); err != nil {
		return err
	}
	lost, err := recoverOnce(c, peers, true)
	if err != nil {
		return err
	}
	c.PrintMessage(
		"the log ends at index %d, term %d; it is unknown whether its last %d entries were committed: they are kept",
		lost.Index, lost.Term, lost.Unknown)
	if c.Bool("dry-run") {
		return showReport(c, lost, "nothing was written")
	}
	if err := c.Confirm("recover", "create a new cluster of this replica at index %d, and give up the disks of %s",
		lost.Index, cmp.Or(c.String("without"), "no other voter")); err != nil {
		return err
	}
	rep, err := recoverOnce(c, peers, false)
	if err != nil {
		return err
	}
	return showReport(c, rep,
		"recovered; start this replica, then join new replicas. Never start a lost replica with its old disk")
}

func recoverOnce(c *verb.Call, peers []offline.RecoverPeer, dry bool) (offline.RecoverReport, error) {
	return offline.Recover(c.String("data"), peers, offline.RecoverOptions{
		FSM: fsm.New(fsm.DefaultConfig()), Verify: server.VerifySnapshot, RaiseEpoch: raiseEpoch, By: verb.LoginName(),
		Without: verb.SplitList(c.String("without")), Dry: dry,
	})
}

// raiseEpoch rewrites a snapshot with the next epoch and records the reason in it.
func raiseEpoch(in io.Reader, out io.Writer) error {
	h, st, err := snapshot.Read(bufio.NewReaderSize(in, 1<<20))
	if err != nil {
		return err
	}
	if err := server.RaiseEpoch(st, st.Meta, "recovered by hand", time.Now()); err != nil {
		return err
	}
	note := &event.Audited{Who: verb.LoginName(), From: "this machine", Action: "recover",
		Target: h.ClusterID, Result: "ok"}
	if err := st.Apply(note); err != nil {
		return err
	}
	w := bufio.NewWriterSize(out, 256<<10)
	if err := snapshot.Write(w, snapshot.HeaderOf(st, h.Index, h.Term, h.Sequence), st); err != nil {
		return err
	}
	return w.Flush()
}

func showReport(c *verb.Call, r offline.RecoverReport, done string) error {
	doc, err := json.Marshal(r)
	if err != nil {
		return err
	}
	err = verb.ShowFacts(c, func() string { return c.String("data") },
		func(context.Context) ([]byte, []output.Fact, error) {
			return doc, []output.Fact{
				{Name: "index", Value: output.Count(r.Index)}, {Name: "term", Value: output.Number(r.Term)},
				{Name: "entries applied", Value: output.Count(r.Applied)},
				{Name: "maybe committed", Value: output.Count(r.Unknown)}, {Name: "epoch", Value: output.Number(r.Epoch)},
			}, nil
		})
	c.PrintMessage("%s", done)
	return err
}
