// Package release knows the versions of rmd. Its file versions.txt is the one place that says which
// version this tree is, and which commits were released. Makefile and contrib/packages read it too.
package release

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

//go:embed versions.txt
var versions string

// Version is one line of versions.txt.
type Version struct {
	Number string
	Commit string // of the release, in full; "" if this tree is the version
}

// Current returns the version that this tree is, or will be when it is released.
func Current() string { return All()[0].Number }

// All returns all versions, the newest first.
func All() []Version {
	all, err := parse(versions)
	if err != nil {
		panic(err) // the program was built from a bad file, and a test reads it first
	}
	return all
}

var line = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)( [0-9a-f]{40})?$`)

// parse reads the lines of versions.txt.
func parse(text string) (all []Version, err error) {
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, "#") {
			continue
		}
		l = strings.TrimSuffix(l, "\n")
		if !line.MatchString(l) {
			return nil, fmt.Errorf("versions.txt: %q is not a version, or a version and a commit", l)
		}
		number, commit, _ := strings.Cut(l, " ")
		if first := len(all) == 0; first != (commit == "") {
			return nil,
				fmt.Errorf(
					"versions.txt: %s: the first version is of this tree and has no commit; each other one was released and has one",
					number)
		}
		if len(all) > 0 && !Before(number, all[len(all)-1].Number) {
			return nil, fmt.Errorf("versions.txt: %s is below %s: the newest version is first", number, all[len(all)-1].Number)
		}
		all = append(all, Version{number, commit})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("versions.txt: no version")
	}
	return all, nil
}

// Before reports whether version a is older than b. Both have three numbers.
func Before(a, b string) bool {
	x, y := numbers(a), numbers(b)
	return slices.Compare(x[:], y[:]) < 0
}

func numbers(version string) (n [3]int) {
	_, _ = fmt.Sscanf(version, "%d.%d.%d", &n[0], &n[1], &n[2])
	return n
}

// Next returns the minor version after a version.
func Next(version string) string {
	n := numbers(version)
	return fmt.Sprintf("%d.%d.0", n[0], n[1]+1)
}
