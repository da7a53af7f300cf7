//go:build interop

package hadooptests

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"rmd/interop/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Run(m)) }

// everyKill is the interval between kills of the leader in the second run, in seconds.
const everyKill = "5"

// TestHadoop runs Hadoop's client tests with three replicas, and again while the leader is killed
// every few seconds. RMD_HADOOP_TESTS is a regular expression for the suites, or "small".
// RMD_HADOOP_MODE is "quiet" or "kills" for one of the two runs.
func TestHadoop(t *testing.T) {
	if os.Getenv("RMD_HADOOP_TESTS") == "" {
		t.Skip("takes hours: run make hadoop-tests")
	}
	dir := fetch(t)
	for _, run := range []struct{ name, kill string }{{"quiet", "0"}, {"kills", everyKill}} {
		t.Run(run.name, func(t *testing.T) {
			if mode := os.Getenv("RMD_HADOOP_MODE"); mode != "" && mode != run.name {
				t.Skip("left out by RMD_HADOOP_MODE")
			}
			table, all := []string{"", "| class | run | passed | failed | known | skipped | leaders killed | took |",
				"|---|---|---|---|---|---|---|---|"}, readKnown(t)
			for _, s := range chosen(t) {
				t.Run(s.name(), func(t *testing.T) {
					if s.quiet != "" && run.kill != "0" {
						t.Skip(s.quiet)
					}
					if s.quiet == withMock {
						free(t, mockRM)
					}
					if !s.published(dir) {
						t.Skip("Maven Central does not have it for this version of Hadoop")
					}
					table = append(table, judge(t, s, start(t, dir, s, run.kill), all, run.kill != "0"))
				})
			}
			t.Log(strings.Join(table, "\n"))
		})
	}
}

// free fails the test if another process has an address that a suite asks.
func free(t *testing.T, address string) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatalf("the suite asks %s, which another process has: %v", address, err)
	}
	_ = l.Close()
}

func chosen(t *testing.T) []suite {
	t.Helper()
	which := os.Getenv("RMD_HADOOP_TESTS")
	if which == "small" {
		return slices.DeleteFunc(slices.Clone(suites), func(s suite) bool { return !slices.Contains(small, s.name()) })
	}
	re, err := regexp.Compile(which)
	if err != nil {
		t.Fatalf("RMD_HADOOP_TESTS: %v", err)
	}
	out := slices.DeleteFunc(slices.Clone(suites), func(s suite) bool { return !re.MatchString(s.name()) })
	if len(out) == 0 {
		t.Fatalf("RMD_HADOOP_TESTS=%s: no suite has such a name", which)
	}
	return out
}

// fetch downloads the tests and returns their folder.
func fetch(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("./fetch") // tests run in the folder of their package
	for _, s := range suites {
		cmd.Args = append(cmd.Args, s.class)
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if e := (*exec.ExitError)(nil); errors.As(err, &e) && e.ExitCode() == 69 {
		t.Skip("SKIPPED: Hadoop's tests need a JDK 17 and Maven")
	}
	if err != nil {
		t.Fatalf("interop/hadooptests/fetch: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// start runs a suite in its own JVM and folder.
func start(t *testing.T, cache string, s suite, kill string) outcome {
	t.Helper()
	dir := work(t, filepath.Join(cache, "sources"))
	timeout := s.timeout
	if kill != "0" {
		timeout *= 3
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	java, home := jvm(t)
	args := []string{"-Xmx" + s.heap, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true",
		"-Duser.home=" + dir, "-Djava.io.tmpdir=" + filepath.Join(dir, "tmp"),
		"-Dtest.build.data=" + filepath.Join(dir, "data"),
		"-Drmd.bin=" + harness.Program(t), "-Drmd.kill=" + kill, "-Drmd.scheduling=" + s.scheduling}
	for _, p := range []string{"java.lang", "java.lang.reflect", "java.util", "java.io", "java.net"} {
		args = append(args, "--add-opens=java.base/"+p+"=ALL-UNNAMED")
	}
	path := []string{filepath.Join(dir, "conf"), filepath.Join(cache, "classes"), filepath.Join(cache, "lib", "*")}
	if s.quiet == withMock {
		path = slices.Insert(path, 1, filepath.Join(cache, "mock"))
	}
	args = append(args, "-cp", strings.Join(path, ":"),
		"rmd.hadooptests.Run", filepath.Join(dir, "results"), s.class)
	cmd := exec.CommandContext(ctx, java, args...)
	cmd.Dir = dir
	cmd.Env = []string{"JAVA_HOME=" + home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TZ=UTC", "HOME=" + dir,
		"TMPDIR=" + filepath.Join(dir, "tmp")}
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	// Replicas and containers are in the process group of the JVM. They must end with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	began := time.Now()
	if err := cmd.Run(); err != nil {
		t.Logf("the JVM of %s: %v", s.name(), err) // the results show what is missing
	}
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // kill the remaining processes
	}
	o := readOutcome(t, filepath.Join(dir, "results"))
	o.took = time.Since(began)
	return o
}

// work creates the folder of a suite. It is kept if the suite fails, or with RMD_INTEROP_KEEP.
// Tests find their resource files where Maven has them, in src/test/resources.
func work(t *testing.T, resources string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rmd-hadooptests-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() || os.Getenv("RMD_INTEROP_KEEP") != "" {
			t.Logf("kept: %s", dir)
			return
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Logf("remove %s: %v", dir, err)
		}
	})
	for _, d := range []string{"conf", "tmp", "data"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "src", "test"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(resources, filepath.Join(dir, "src", "test", "resources")); err != nil {
		t.Fatal(err)
	}
	// DistributedShell's tests overwrite yarn-site.xml with the cluster's configuration, and need
	// this name of the appender.
	log := "log4j.rootLogger=INFO,stdout\nlog4j.appender.stdout=org.apache.log4j.ConsoleAppender\n" +
		"log4j.appender.stdout.layout=org.apache.log4j.PatternLayout\nlog4j.appender.stdout.layout.ConversionPattern=%d{ISO8601} %-5p %c{2}: %m%n\n"
	// A nearly full disk must not make the NodeManagers unhealthy.
	site := "<configuration><property><name>yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage</name><value>99.9</value></property></configuration>\n"
	for name, text := range map[string]string{"yarn-site.xml": site, "log4j.properties": log} {
		if err := os.WriteFile(filepath.Join(dir, "conf", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// jvm returns the path of java, and its JAVA_HOME.
func jvm(t *testing.T) (java, home string) {
	t.Helper()
	if home = os.Getenv("JAVA_HOME"); home == "" {
		path, err := exec.LookPath("java")
		if err == nil {
			path, err = filepath.EvalSymlinks(path)
		}
		if err != nil {
			t.Fatalf("find a JVM: %v", err)
		}
		home = filepath.Dir(filepath.Dir(path))
	}
	return filepath.Join(home, "bin", "java"), home
}
