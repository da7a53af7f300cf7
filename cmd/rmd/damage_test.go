package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rmd/api"
	"rmd/internal/exitcode"
)

// flip changes one bit, behind bytes after the start of every occurrence of mark in a file.
func flip(t *testing.T, file string, mark []byte, behind int) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for at := 0; ; at++ {
		i := bytes.Index(b[at:], mark)
		if i < 0 || at+i+behind >= len(b) {
			break
		}
		at += i
		b[at+behind] ^= 4
		n++
	}
	if n == 0 {
		t.Fatalf("%s has no %x", file, mark)
	}
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// envelope returns the first bytes of the entry with an index and term in raft.db: version, type,
// index, term (package cluster, envelope.go).
func envelope(index, term uint64) []byte {
	b := []byte{1, 0}
	b = binary.BigEndian.AppendUint64(b, index)
	return binary.BigEndian.AppendUint64(b, term)
}

const envelopeHead = 22

func (c *processes) snapshotFiles(p *process) []string {
	c.t.Helper()
	files := c.allSnapshotFiles(p)
	if len(files) < 2 {
		c.t.Fatalf("snapshots of %s: %q", p.id, files)
	}
	slices.SortFunc(files, func(a, b string) int { return int(snapshotIndex(a)) - int(snapshotIndex(b)) })
	return files // the newest last
}

// allSnapshotFiles returns the files of all snapshots on a replica's disk.
func (c *processes) allSnapshotFiles(p *process) []string {
	c.t.Helper()
	files, err := filepath.Glob(filepath.Join(p.dir, "snapshots", "*", "state.bin"))
	if err != nil {
		c.t.Fatal(err)
	}
	return files
}

// snapshotIndex returns the index in the name of a snapshot's directory, TERM-INDEX-TIME.
func snapshotIndex(file string) uint64 {
	var term, index, at uint64
	_, _ = fmt.Sscanf(filepath.Base(filepath.Dir(file)), "%d-%d-%d", &term, &index, &at) // 0 if the name has another form
	return index
}

// keep copies a data directory. The function that it returns restores the directory.
func (c *processes) keep(p *process) (restore func()) {
	c.t.Helper()
	aside := filepath.Join(c.t.(*testing.T).TempDir(), "aside")
	if err := os.CopyFS(aside, os.DirFS(p.dir)); err != nil {
		c.t.Fatal(err)
	}
	return func() {
		c.t.Helper()
		c.wipe(p)
		if err := os.CopyFS(p.dir, os.DirFS(aside)); err != nil {
			c.t.Fatal(err)
		}
		err := filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				return os.Chmod(path, 0o700)
			}
			return os.Chmod(path, 0o600)
		})
		if err != nil {
			c.t.Fatal(err)
		}
	}
}

// TestDamage damages the disk of one replica in different ways. The replica must not start, and
// must say why and what to do. The other replicas continue, and the damaged replica recovers when
// the operator follows the message.
func TestDamage(t *testing.T) {
	t.Parallel()
	c := newProcesses(t, 3, calm, "  bootstrap_expect: 3\n"+often, quickPilot)
	for _, p := range c.all {
		c.start(p)
	}
	c.awaitReady(c.all...)
	work := c.work(newCaller(t, c.addrs()), 4)
	victim := c.others(c.leader())[0]
	c.await("the log begins behind its first entries", patience, func() bool {
		var log api.Log
		var list api.Snapshots
		return c.get(victim, "/v1/log?count=1", &log) && log.First > 1 && c.get(victim, "/v1/snapshots", &list) &&
			len(list.Snapshots) == 2
	})
	var log api.Log
	c.await("the log is read", patience, func() bool {
		return c.get(victim, "/v1/log?count=1", &log) && len(log.Entries) == 1 && log.Entries[0].Type == "events"
	})
	entry := log.Entries[0]
	if code := c.terminate(victim); code != 0 {
		t.Fatalf("%s ended with %d", victim.id, code)
	}
	restore := c.keep(victim)
	damageSnapshots(t, c, victim, restore)
	damageLog(t, c, victim, restore, entry)
	damageIdentity(t, c, victim, restore)
	flipAnywhere(t, c, victim, restore)
	openToOthers(t, c, victim)
	work.goesOn()
	startBehindDamage(t, c, victim)
	c.awaitInStep()
	c.done("cluster", "verify")

	// Recover as the message says.
	if code := c.terminate(victim); code != 0 {
		t.Fatalf("%s ended with %d", victim.id, code)
	}
	flip(t, filepath.Join(victim.dir, "replica.json"), []byte(`"incarnation": "`), 16)
	c.refuses(victim, exitcode.Store, "only if the other replicas have a leader")
	c.wipe(victim)
	c.done("cluster", "remove", victim.id, "--yes")
	c.start(victim)
	c.join(victim, c.leader())
	c.awaitVoters(c.all...)
	work.goesOn()
	work.end()
	c.done("cluster", "verify")
}

func damageSnapshots(t *testing.T, c *processes, p *process, restore func()) {
	files := c.snapshotFiles(p)
	newest := files[len(files)-1]
	for _, f := range []string{files[0], newest} {
		restore()
		flip(t, f, []byte("root.batch"), 3)
		out, errs, code := c.rmd("check", "--data", p.dir)
		contains(t, "check", out, "DAMAGED", filepath.Base(filepath.Dir(f)))
		contains(t, "check", errs, "rmd: CHECK_FAILED: "+p.dir+": snapshot "+filepath.Base(filepath.Dir(f)))
		if code != 9 {
			t.Errorf("check of a damaged snapshot ended with %d", code)
		}
	}
	restore()
	for _, f := range files { // damage the content of one, and meta.json of the other
		if f == newest {
			flip(t, filepath.Join(filepath.Dir(f), "meta.json"), []byte(`"Address":"127.0.0.1:`), 12)
		} else {
			flip(t, f, []byte("root.batch"), 3)
		}
	}
	c.refused(9, "CHECK_FAILED: "+p.dir+": all snapshots are damaged", "check", "--data", p.dir)
	c.refuses(p, exitcode.Store, "CANNOT_START", "all snapshots are damaged",
		filepath.Base(filepath.Dir(newest))+": meta.json: checksum differs", "only if the other replicas have a leader")
	restore()
}

// startBehindDamage starts a replica whose newest snapshot is damaged. The replica starts from the
// older snapshot and the log after it. It has then written to its disk, so the test must not
// restore older copies any more.
func startBehindDamage(t *testing.T, c *processes, p *process) {
	files := c.snapshotFiles(p)
	newest := files[len(files)-1]
	flip(t, newest, []byte("root.batch"), 3)
	c.start(p)
	c.awaitReady(p)
	contains(t, p.id, p.logged(), filepath.Base(filepath.Dir(newest)))
}

func damageLog(t *testing.T, c *processes, p *process, restore func(), e api.LogEntry) {
	flip(t, filepath.Join(p.dir, "raft.db"), envelope(e.Index, e.Term), envelopeHead+5)
	where := "log entry " + itoa(e.Index) + ": checksum differs"
	c.refused(9, where, "check", "--data", p.dir)
	c.refuses(p, exitcode.Store, "CANNOT_START", where, "rmd check --data DIR")
	restore()
	if err := os.Truncate(filepath.Join(p.dir, "raft.db"), 20000); err != nil {
		t.Fatal(err)
	}
	c.refused(9, "raft.db", "check", "--data", p.dir)
	c.refuses(p, exitcode.Store, "CANNOT_START", "raft.db")
	restore()
	if err := os.Remove(filepath.Join(p.dir, "raft.db")); err != nil {
		t.Fatal(err)
	}
	c.refused(9, "raft.db is missing, but "+p.id, "check", "--data", p.dir)
	c.refused(9, "raft.db is missing, but "+p.id, "check", "--data", p.dir) // the first check created no file
	c.refuses(p, exitcode.Store, "CANNOT_START", "raft.db is missing, but "+p.id,
		"only if the other replicas have a leader")
	restore()
	if err := os.WriteFile(filepath.Join(p.dir, "raft.db"), bytes.Repeat([]byte("x"), 65536), 0o600); err != nil {
		t.Fatal(err)
	}
	c.refuses(p, exitcode.Store, "CANNOT_START", "raft.db")
	restore()
}

func damageIdentity(t *testing.T, c *processes, p *process, restore func()) {
	file := filepath.Join(p.dir, "replica.json")
	flip(t, file, []byte(`"incarnation": "`), 16)
	c.refused(9, "replica.json: checksum differs", "check", "--data", p.dir)
	c.refuses(p, exitcode.Store, "CANNOT_START", file[:len(file)-len("/replica.json")], "replica.json: checksum differs",
		"only if the other replicas have a leader")
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.refuses(p, exitcode.Store, "CANNOT_START", "replica.json")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	c.refuses(p, exitcode.Store, "raft.db exists, but replica.json is missing")
	restore()
}

// flipAnywhere flips single bits at random places: RMD_FLIPS of them, or 24. After each, "rmd
// check" must report success or the damage, and must not panic.
func flipAnywhere(t *testing.T, c *processes, p *process, restore func()) {
	flips := 24
	if n, err := strconv.Atoi(os.Getenv("RMD_FLIPS")); err == nil {
		flips = n
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range flips {
		files := append(c.snapshotFiles(p), filepath.Join(p.dir, "raft.db"), filepath.Join(p.dir, "replica.json"))
		file := files[r.IntN(len(files))]
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		at, bit := r.IntN(len(b)), byte(1)<<r.IntN(8)
		b[at] ^= bit
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		_, errs, code := c.rmd("check", "--data", p.dir)
		told := code == 9 && strings.HasPrefix(errs, "rmd: CHECK_FAILED: "+p.dir)
		if !told && code != 0 || code == 0 && strings.HasSuffix(file, "state.bin") || contain(errs, "goroutine ") {
			t.Errorf("%s with bit %#x of byte %d flipped: check ended with %d:\n%s", file, bit, at, code, errs)
		}
		restore()
	}
}

func openToOthers(t *testing.T, c *processes, p *process) {
	file := filepath.Join(p.dir, "replica.json")
	for path, want := range map[string]string{p.dir: "700", file: "600"} {
		mode := fs.FileMode(0o755)
		if path == file {
			mode = 0o644
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		c.refuses(p, 8, "DATA_MODE: ", path+" has mode 0", "chmod "+want+" "+path)
		if err := os.Chmod(path, mode&0o700); err != nil {
			t.Fatal(err)
		}
		if path == file {
			if err := os.Chmod(path, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestBadConfig puts several faults into rmd.yaml. The program reports all of them, each with its
// place and the correct form, and starts nothing.
func TestBadConfig(t *testing.T) {
	t.Parallel()
	c := newProcesses(t, 1, lowest, "", "lgo:\n  level: info\nlog:\n  level: infos\ndisk:\n  reserve: a lot\n")
	p := c.all[0]
	c.reconfigure(p, "heartbeat: 150ms", "heartbeet: 150ms")
	c.reconfigure(p, "lease: 100ms", "lease: 2s\n  trailing: 10")
	b, err := os.ReadFile(p.config)
	if err != nil {
		t.Fatal(err)
	}
	at := func(text string) string {
		line := 1 + strings.Count(string(b[:bytes.Index(b, []byte(text))]), "\n")
		return p.config + ":" + itoa(uint64(line))
	}
	c.refuses(p, 2, "rmd: INVALID_CONFIG: the configuration has ", "correct them; nothing was started",
		at("heartbeet")+":3: unknown key \"raft.heartbeet\"; did you mean \"heartbeat\"?",
		at("lease: 2s"), "must be above 0 and at most raft.heartbeat",
		at("trailing"), "10 is below 1024",
		at("lgo"), `unknown key "lgo"; did you mean "log"?`,
		at("level: infos"), `"infos" is not one of`, `did you mean "info"?`,
		at("reserve: a lot"), `"a lot" is not a size such as 256MiB`)
	if err := os.WriteFile(p.config, []byte("id: [rm1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.refuses(p, 2, "INVALID_CONFIG", p.config+":1", "not YAML")
	if err := os.Remove(p.config); err != nil {
		t.Fatal(err)
	}
	c.refuses(p, 2, "INVALID_CONFIG", p.config, "write one with \"rmd init\"")
	printed := c.done("server", "--print-config", "--id", "rm1", "--data", p.dir, "--set", "raft.join=a:1,b:2", "--set",
		"raft.heartbeat=1s", "--set", "raft.election=1s")
	contains(t, "print-config", printed, `["a:1", "b:2"]   # flag --set raft.join`,
		"heartbeat: 1s   # flag --set raft.heartbeat")
	if entries, err := os.ReadDir(p.dir); err != nil || len(entries) > 0 {
		t.Errorf("the data directory has %v (%v)", entries, err)
	}
}

// TestFatalKey starts a replica with Hadoop's files of a FairScheduler. It says which key stops it
// and what to do, and starts nothing.
func TestFatalKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	site := filepath.Join(dir, "yarn-site.xml")
	text := "<configuration><property><name>yarn.resourcemanager.scheduler.class</name><value>org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler</value></property></configuration>\n"
	if err := os.WriteFile(site, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := newProcesses(t, 1, lowest, "", "hadoop:\n  conf_dir: "+dir+"\n")
	p := c.all[0]
	c.refuses(p, 2, "rmd: INVALID_CONFIG: the Hadoop files have 1 key with which this replica must not start",
		site, "yarn.resourcemanager.scheduler.class", "FairScheduler", "yarn fs2cs")
	if entries, err := os.ReadDir(p.dir); err != nil || len(entries) > 0 {
		t.Errorf("the data directory has %v (%v)", entries, err)
	}
}
