package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// mutant is one planted bug.
type mutant struct {
	number   int
	file     string
	bug      string
	expected []string
	says     *regexp.Regexp // nil: the output must name an expected invariant
	runs     []string
	budget   time.Duration
	slow     bool // it starts before the others
}

const defaultBudget = 6 * time.Minute

// bugs is the number of planted bugs. load compares it with the files, so that none gets lost.
const bugs = 105

// load reads the planted bugs of a folder, sorted by number. If only is not empty, it reads only
// those.
func load(dir string, only []int) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.patch"))
	if err != nil {
		return nil, err
	}
	var out []mutant
	var errs []error
	for _, f := range files {
		m, err := parse(f)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if len(only) == 0 || slices.Contains(only, m.number) {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b mutant) int { return a.number - b.number })
	for i := 1; i < len(out); i++ {
		if out[i].number == out[i-1].number {
			errs = append(errs, fmt.Errorf("two planted bugs have the number %d", out[i].number))
		}
	}
	if len(only) == 0 && len(out) != bugs {
		errs = append(errs, fmt.Errorf("%d planted bugs, want %d", len(out), bugs))
	}
	for _, n := range only {
		if !slices.ContainsFunc(out, func(m mutant) bool { return m.number == n }) {
			errs = append(errs, fmt.Errorf("planted bug %d is missing", n))
		}
	}
	return out, errors.Join(errs...)
}

// parse reads the head of a patch.
func parse(file string) (mutant, error) {
	m := mutant{file: file, budget: defaultBudget}
	number, _, _ := strings.Cut(filepath.Base(file), "-")
	n, err := strconv.Atoi(number)
	if err != nil {
		return m, fmt.Errorf("%s: the name does not begin with a number", file)
	}
	m.number = n
	data, err := os.ReadFile(file)
	if err != nil {
		return m, err
	}
	for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan() && strings.HasPrefix(s.Text(), "#"); {
		key, value, ok := strings.Cut(strings.TrimPrefix(s.Text(), "#"), ":")
		if !ok {
			continue
		}
		if err := m.set(strings.TrimSpace(key), strings.TrimSpace(value)); err != nil {
			return m, fmt.Errorf("%s: %w", file, err)
		}
	}
	if m.bug == "" || len(m.expected) == 0 || len(m.runs) == 0 {
		return m, fmt.Errorf("%s: bug, expected and run are required", file)
	}
	return m, nil
}

func (m *mutant) set(key, value string) error {
	switch key {
	case "bug":
		m.bug = strings.TrimSpace(m.bug + " " + value)
	case "expected":
		list := func(r rune) bool { return r == ',' || r == '/' || r == ' ' }
		m.expected = append(m.expected, strings.FieldsFunc(value, list)...)
	case "run":
		m.runs = append(m.runs, value)
	case "says":
		re, err := regexp.Compile(value)
		if err != nil {
			return err
		}
		m.says = re
	case "slow":
		m.slow = true
	case "budget":
		d, err := time.ParseDuration(value)
		if err != nil {
			return err
		}
		m.budget = d
	default:
		return fmt.Errorf("key %q is not known", key)
	}
	return nil
}
