// Command matrix runs the interop tests with several versions of Hadoop, one after the other, and
// writes what passed into the table of docs/operations/hadoop.md, with the date. It runs in the root
// of the project. "make matrix" calls it.
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

// mixed are the tests with NodeManagers of several versions, with the text of their rows.
var mixed = []struct{ test, shows string }{
	{"TestTwoVersions", "MapReduce and DistributedShell on NodeManagers of 3.1.4 and 3.5.0 in one cluster"},
	{"TestUpgradeOfNodes", "NodeManagers upgraded one by one from 3.1.4 to 3.4.2 to 3.5.0 under MapReduce, no task lost"},
}

const document, mark = "docs/operations/hadoop.md", "<!-- tested with: make matrix -->\n\n"

func main() {
	versions := flag.String("versions", "2.10.2 3.1.4 3.3.6 3.4.2 3.5.0", "the versions of Hadoop")
	out := flag.String("out", "out/matrix", "the folder of the logs")
	flag.Parse()
	if err := run(strings.Fields(*versions), *out); err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
		os.Exit(1)
	}
}

func run(versions []string, out string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	today := time.Now().UTC().Format(time.DateOnly)
	head, line := "| Hadoop |", "|---|"
	for _, c := range columns {
		head, line = head+" "+c.shows+" |", line+"---|"
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
	table := head + "\n" + line + "\n"
	for _, v := range versions {
		table += "| " + v + " |"
		for _, c := range columns {
			table += " " + verdict(v, c.test) + " |"
		}
		table += "\n"
	}
	table += "\nTested on " + today + ", with JDK 17. On the same day:\n\n"
	for _, m := range mixed {
		table += "- " + m.shows + ": " + verdict("", m.test) + "\n"
	}
	if err := write(table); err != nil {
		return err
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
	cmd := exec.Command("go", "test", "-tags", "interop", "-count=1", "-v", "-timeout", "60m", "-run", "^"+test+"$", "./interop")
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

// write replaces the text between the mark and the next heading.
func write(table string) error {
	b, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(b), mark)
	end := strings.Index("\n"+rest, "\n#")
	if !ok || end < 0 {
		return fmt.Errorf("%s has no line %q with a heading after it", document, strings.TrimSpace(mark))
	}
	return os.WriteFile(document, []byte(before+mark+table+"\n"+rest[end:]), 0o644)
}
