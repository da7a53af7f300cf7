// Command matrix runs the interop tests with several versions of Hadoop, one after the other, and
// writes what passed into the tables of docs/operations/hadoop.md, with the date. Rows of versions
// that it does not run stay as they are. It runs in the root of the project. "make matrix" calls it.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// columns are the tests of each version, with what they show.
var columns = []struct{ test, shows string }{
	{"TestJobs", "DistributedShell, MapReduce with a shuffle"},
	{"TestMapReduceAcrossLeaders", "leaders killed under MapReduce"},
	{"TestResize", "resize"},
	{"TestDrainUnderMapReduce", "nodes drained under MapReduce"},
	{"TestLabels", "labels"},
	{"TestCommands", "command lines"},
}

// others are tests that run with one version, or with NodeManagers of several, and the text of their
// rows. "" is the version of interop/pom.xml.
var others = []struct{ version, test, shows string }{
	{"", "TestTwoVersions", "MapReduce of 3.4.2 on NodeManagers of 3.1.4 and 3.5.0 in one cluster"},
	{"3.5.0", "TestTokenHMAC", "MapReduce and DistributedShell of 3.5.0 with tokens signed with HmacSHA256"},
	{"", "TestUpgradeOfNodes",
		"NodeManagers upgraded one by one from 3.1.4 to 3.4.2 to 3.5.0 under MapReduce, no task lost"},
}

const document = "docs/operations/hadoop.md"

func main() {
	versions := flag.String("versions", "2.10.2 3.1.4 3.3.6 3.4.2 3.5.0", "the versions of Hadoop")
	more := flag.Bool("others", true, "run also the tests with NodeManagers of several versions, and with other keys")
	out := flag.String("out", "out/matrix", "the folder of the logs")
	flag.Parse()
	if err := run(strings.Fields(*versions), *more, *out); err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
		os.Exit(1)
	}
}

func run(versions []string, more bool, out string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	failures := 0
	verdict := func(version, test string) string {
		if err := play(version, test, filepath.Join(out, version+"-"+test+".log")); err != nil {
			fmt.Fprintf(os.Stderr, "%s with Hadoop %s: %v\n", test, version, err)
			failures++
			return "**no**"
		}
		return "yes"
	}
	for _, v := range versions {
		var cells []string
		for _, c := range columns {
			cells = append(cells, verdict(v, c.test))
		}
		if err := write(v, cells); err != nil {
			return err
		}
	}
	if more {
		for _, o := range others {
			if err := write(o.shows, []string{verdict(o.version, o.test)}); err != nil {
				return err
			}
		}
	}
	if failures > 0 {
		return fmt.Errorf("%d tests failed; the logs are in %s", failures, out)
	}
	return nil
}

// passed matches the end of a test that passed. One that was skipped has not passed.
var passed = regexp.MustCompile(`(?m)^--- PASS: (\w+) \(`)

// play runs one test with one version of Hadoop. "" is the version of interop/pom.xml.
func play(version, test, log string) error {
	cmd := exec.Command("go", "test", "-tags", "interop", "-count=1", "-v", "-timeout", "60m", "-run",
		"^"+test+"$", "./interop")
	cmd.Env = append(os.Environ(), "RMD_INTEROP_HADOOP="+version, "RMD_INTEROP_RECORDED=")
	text, err := cmd.CombinedOutput()
	if e := os.WriteFile(log, text, 0o644); e != nil {
		return e
	}
	if err != nil {
		return fmt.Errorf("%w: see %s", err, log)
	}
	if m := passed.FindSubmatch(text); m == nil || string(m[1]) != test {
		return fmt.Errorf("the test did not run: see %s", log)
	}
	return nil
}

// write replaces the row of a table that begins with name. The row gets today's date.
func write(name string, cells []string) error {
	b, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	begin := "\n| " + name + " |"
	before, rest, ok := strings.Cut(string(b), begin)
	_, after, ended := strings.Cut(rest, "\n")
	if !ok || !ended {
		return fmt.Errorf("%s has no row %q", document, strings.TrimSpace(begin))
	}
	today := time.Now().UTC().Format(time.DateOnly)
	return os.WriteFile(document, []byte(before+begin+" "+today+" | "+strings.Join(cells, " | ")+" |\n"+after), 0o644)
}
