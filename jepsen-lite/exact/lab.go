package exact

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"rmd/jepsen-lite/sim/script"
)

// Package is the package of the simulation, and entry its test for this host.
const (
	Package = "./jepsen-lite/sim"
	entry   = "^TestScript$"
)

// Build compiles the tests of a package in a source tree for wasm.
func Build(ctx context.Context, tree, pkg, out string) error {
	out, err := filepath.Abs(out)
	if err != nil {
		return fmt.Errorf("build guest: %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-trimpath", "-o", out, pkg)
	cmd.Dir, cmd.Env = tree, append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build guest: %w\n%s", err, text)
	}
	return nil
}

// Version returns the commit of a source tree, or "unknown", and the Go version. A hash is valid
// for one version.
func Version(ctx context.Context, tree string) string {
	commit := "unknown"
	cmd := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty")
	cmd.Dir = tree
	if out, err := cmd.Output(); err == nil { // a tree without git has no commit
		commit = strings.TrimSpace(string(out))
	}
	return fmt.Sprintf("commit %s  %s", commit, runtime.Version())
}

// Options are the settings of a run that the seed does not determine.
type Options struct {
	// Profile says which faults may occur, in the form of package sim; empty means all.
	Profile string
	// Minutes is how long faults are injected, in virtual time.
	Minutes int
	// FastPath turns the guard against hashicorp/raft #695 off, so that runs should fail.
	FastPath bool
	// Within limits the real time of a run; 0 means no limit.
	Within time.Duration
}

// DefaultOptions returns options with all faults for three minutes.
func DefaultOptions() Options { return Options{Minutes: 3, Within: 10 * time.Minute} }

// Validate returns an error if the options are invalid.
func (o Options) Validate() error {
	if o.Minutes < 1 {
		return fmt.Errorf("%d minutes of faults: at least 1", o.Minutes)
	}
	if o.Within < 0 {
		return fmt.Errorf("a limit of %s for a run: 0 for none, or more", o.Within)
	}
	return nil
}

// Lab plays scripts on one build of the simulation.
type Lab struct {
	Program *Program
	Options Options
}

// Finding is the result of a script.
type Finding struct {
	script.Outcome
	Hash string // of everything that left the guest, and of its clock
	Real time.Duration
}

// Failed reports whether there is a violation.
func (f Finding) Failed() bool { return len(f.Violations) > 0 }

// errNoOutcome means that a guest ended without an outcome.
var errNoOutcome = errors.New("the run ended without an outcome")

// Draw returns the script that a seed stands for.
func (l *Lab) Draw(ctx context.Context, seed int64) (script.Script, error) {
	env := [][2]string{{"RMD_SIM_TELL", "draw"}, {"RMD_SIM_SEED", strconv.FormatInt(seed, 10)}, {"RMD_SIM_MINUTES", strconv.Itoa(l.Options.Minutes)}}
	if l.Options.Profile != "" {
		env = append(env, [2]string{"RMD_SIM_PROFILE", l.Options.Profile})
	}
	var s script.Script
	if _, err := l.ask(ctx, Call{Env: env, Schedule: seed, Within: l.Options.Within}, &s); err != nil {
		return script.Script{}, fmt.Errorf("draw seed %d: %w", seed, err)
	}
	s.Cluster.FastPath = s.Cluster.FastPath || l.Options.FastPath
	return s, nil
}

// Play plays a script. The guest does not get its name and story, because they would be in its
// memory and so change the run.
func (l *Lab) Play(ctx context.Context, s script.Script) (Finding, error) {
	bare := s
	bare.Name, bare.Story, bare.Found, bare.Invariant = "", "", "", ""
	text, err := json.Marshal(bare)
	if err != nil {
		return Finding{}, fmt.Errorf("encode script: %w", err)
	}
	var f Finding
	env := [][2]string{{"RMD_SIM_TELL", "outcome"}, {"RMD_SIM_SCRIPT", string(text)}}
	ran, err := l.ask(ctx, Call{Env: env, Schedule: s.Schedule, Within: l.Options.Within}, &f.Outcome)
	if err != nil {
		return Finding{}, fmt.Errorf("play script of seed %d: %w", s.Seed, err)
	}
	f.Script, f.Hash, f.Real = s, ran.Hash, ran.Real
	return f, nil
}

// mark is the prefix of the line with the guest's answer.
var mark = []byte("outcome ")

// ask runs a guest and reads its answer. If a guest that plays a script crashes (a panic of rmd, a
// deadlock that synctest found), the answer is an outcome with the violation "crash".
func (l *Lab) ask(ctx context.Context, c Call, answer any) (Ran, error) {
	c.Args = []string{"-test.run=" + entry, "-test.timeout=0"}
	ran, err := l.Program.Run(ctx, c)
	if err != nil {
		return ran, err
	}
	for line := range bytes.Lines(ran.Output) {
		if text, ok := bytes.CutPrefix(line, mark); ok {
			if err := json.Unmarshal(text, answer); err != nil {
				return ran, fmt.Errorf("%w: %w", errNoOutcome, err)
			}
			return ran, nil
		}
	}
	if o, plays := answer.(*script.Outcome); plays && ran.Exit != 0 {
		*o = script.Outcome{Violations: []string{"crash: " + cause(ran.Output)}, History: string(ran.Output)}
		return ran, nil
	}
	return ran, fmt.Errorf("%w, with code %d:\n%s", errNoOutcome, ran.Exit, ran.Output)
}

// cause returns the line in the output of a crashed guest that names the cause.
func cause(out []byte) string {
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") {
			return strings.TrimSpace(line)
		}
	}
	return "no cause is told"
}

// Invariant names the first violation of a run: an id such as "S1", the cause of a crash, or the
// first words of a violation without an id, except numbers and names of replicas. It returns "" if
// there is no violation.
func Invariant(o script.Outcome) string {
	if len(o.Violations) == 0 {
		return ""
	}
	head, rest, _ := strings.Cut(o.Violations[0], ":")
	switch {
	case head == "crash":
		return head + ":" + rest
	case len(head) <= 3:
		return head
	}
	var words []string
	for _, w := range strings.Fields(o.Violations[0]) {
		if len(w) > 1 && !strings.ContainsAny(w, "0123456789") && len(words) < 6 {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}
