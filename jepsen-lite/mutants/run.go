package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// verdict is the result of one planted bug.
type verdict struct {
	m      mutant
	caught string // the invariant that caught it, or those expected; empty if it was not caught
	by     string // the command that caught it
	seeds  string
	took   time.Duration
	cpu    time.Duration // CPU time of all its processes
	err    error         // the patch does not apply, or does not compile
	output string
}

// copyTree copies the files of a module without git's data and build results.
func copyTree(from, to string) error {
	skip := []string{".git", "bin", "out", "node_modules"}
	return filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, os.ErrNotExist) {
				return nil // a temporary file of another process
			}
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && slices.Contains(skip, rel):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		return copyFile(path, filepath.Join(to, rel))
	})
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, info.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// apply applies a patch to the copy, or reverts it.
func apply(tree, patch string, back bool) error {
	args := []string{"apply", "--whitespace=nowarn"}
	if back {
		args = append(args, "-R")
	}
	cmd := exec.Command("git", append(args, patch)...)
	cmd.Dir = tree
	// Without this, git could take a temporary folder inside another repository for a part of it.
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(tree))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the patch does not apply: %s", strings.TrimSpace(string(out)))
	}
	return nil
}

// judge plants one bug in the copy and runs its commands until one catches it.
func judge(tree string, m mutant) verdict {
	v := verdict{m: m, seeds: "-"}
	patch, err := filepath.Abs(m.file)
	if err == nil {
		err = apply(tree, patch, false)
	}
	if err != nil {
		v.err = err
		return v
	}
	defer func() { v.err = errors.Join(v.err, apply(tree, patch, true)) }()
	start := time.Now()
	for _, line := range m.runs {
		out, failed, cpu := run(tree, line, m.budget)
		v.took, v.cpu, v.output = time.Since(start), v.cpu+cpu, out
		if broken.MatchString(out) {
			v.err = errors.New("it does not compile")
			return v
		}
		if why := m.detectedBy(out); failed && why != "" {
			v.caught, v.by, v.seeds = why, line, seedsOf(out)
			return v
		}
	}
	return v
}

var (
	broken    = regexp.MustCompile(`\[(build|setup) failed\]`)
	seedFound = regexp.MustCompile(`\bseed (\d+)\b`)
)

// detectedBy returns the expected invariant that the output names, in the form "S9:" or "S9, S11:";
// "" if there is none. "S9 ok" in a report does not count.
func (m mutant) detectedBy(out string) string {
	for _, e := range m.expected {
		if regexp.MustCompile(`\b` + regexp.QuoteMeta(e) + `\b(, S\d+)*:`).MatchString(out) {
			return e
		}
	}
	if m.says != nil && m.says.MatchString(out) {
		return strings.Join(m.expected, "/")
	}
	return ""
}

// seedsOf returns the seed that failed. Seeds count from 1, so it is also the number of seeds that
// were needed.
func seedsOf(out string) string {
	if m := seedFound.FindStringSubmatch(out); m != nil {
		return m[1]
	}
	return "-"
}

// overBudget is in the last line of the output of a command that was killed.
const overBudget = "ended: over its budget of "

// run runs a command in the copy on one core. After the budget, it kills all processes of the
// command.
func run(tree, line string, budget time.Duration) (out string, failed bool, cpu time.Duration) {
	return runOn(1, tree, line, budget)
}

// buildFlags omit what these builds do not need: vet and debug information.
const buildFlags = "GOFLAGS=-trimpath -vet=off -ldflags=-s"

// runOn runs a command on the given number of cores. failed is false if the command was killed.
func runOn(cores int, tree, line string, budget time.Duration) (out string, failed bool, cpu time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), budget)
	defer cancel()
	var b bytes.Buffer
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir, cmd.Stdout, cmd.Stderr = tree, &b, &b
	cmd.Env = append(os.Environ(), buildFlags, fmt.Sprintf("GOMAXPROCS=%d", cores)) // with one core, seeds run in order
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	if s := cmd.ProcessState; s != nil {
		cpu = s.UserTime() + s.SystemTime()
	}
	if ctx.Err() != nil {
		return b.String() + "\n" + overBudget + budget.String(), false, cpu
	}
	return b.String(), err != nil, cpu
}

// numbers parses a list of numbers.
func numbers(list string) ([]int, error) {
	var out []int
	for _, f := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.Atoi(f)
		if err != nil {
			return nil, fmt.Errorf("%q is no number of a planted bug", f)
		}
		out = append(out, n)
	}
	return out, nil
}
