package harness

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Install is the location of Hadoop and of the compiled classes on this machine.
type Install struct {
	Root    string // root of the project
	Jars    string // Hadoop's jars
	Classes string // compiled classes of interop/java
	Java    string // the JVM
	Home    string // JAVA_HOME
}

// folder returns the folder interop. It searches from the folder of the running test, because a
// binary built with -trimpath does not know where it was compiled.
func folder() string {
	dir, err := os.Getwd()
	for err == nil && dir != filepath.Dir(dir) {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return filepath.Join(dir, "interop")
		}
		dir = filepath.Dir(dir)
	}
	return "interop"
}

// runFetch runs interop/fetch for a version of Hadoop and returns the cache folder.
func runFetch(version string, what ...string) (cache string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(folder(), "fetch"), what...)
	cmd.Env = append(os.Environ(), versionVar+"="+version)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("interop/fetch %s: %w", strings.Join(what, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Functions that return the folders with the jars and jobs of other frameworks.
var spark, flink = framework("spark"), framework("flink")

func framework(name string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		cache, err := runFetch("", name)
		return filepath.Join(cache, name), err
	})
}

// native returns the folder with Hadoop's native library.
var native = framework("native")

// frameworkFolder returns the folder of a framework.
func (c *Cluster) frameworkFolder(find func() (string, error)) string {
	c.t.Helper()
	dir, err := find()
	if err != nil {
		c.t.Fatal(err)
	}
	return dir
}

// versionVar is the variable with the version of Hadoop that tests use, if not that of pom.xml.
const versionVar = "RMD_INTEROP_HADOOP"

// DefaultVersion returns the version of Hadoop that tests use, or "" for that of pom.xml.
func DefaultVersion() string { return os.Getenv(versionVar) }

// installs has a function for each version of Hadoop, which fetches it once.
var installs sync.Map

func fetched(version string) (Install, error) {
	once, _ := installs.LoadOrStore(version, sync.OnceValues(func() (Install, error) { return install(version) }))
	return once.(func() (Install, error))()
}

func install(version string) (Install, error) {
	cache, err := runFetch(version)
	if err != nil {
		return Install{}, err
	}
	home := os.Getenv("JAVA_HOME")
	if home == "" {
		path, err := exec.LookPath("java")
		if err != nil {
			return Install{}, fmt.Errorf("find a JVM: %w", err)
		}
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return Install{}, fmt.Errorf("find a JVM: %w", err)
		}
		home = filepath.Dir(filepath.Dir(path))
	}
	return Install{
		Root: filepath.Dir(folder()), Jars: filepath.Join(cache, "lib"), Classes: filepath.Join(cache, "classes"),
		Java: filepath.Join(home, "bin", "java"), Home: home,
	}, nil
}

// Find is Fetch for tests that can run without a JDK or Maven.
func Find() (Install, error) { return fetched(DefaultVersion()) }

// Fetch downloads everything that the harness runs. It is quick if the files already exist.
func Fetch(t testing.TB) Install {
	t.Helper()
	return FetchVersion(t, DefaultVersion())
}

// FetchVersion is Fetch for a version of Hadoop. "" is that of pom.xml.
func FetchVersion(t testing.TB, version string) Install {
	t.Helper()
	in, err := fetched(version)
	if err != nil {
		t.Fatalf("%v: the interop tests need a JDK 17 and Maven, see interop/README.md", err)
	}
	return in
}

var built = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv("RMD_INTEROP_BIN"); bin != "" {
		return filepath.Abs(bin)
	}
	root := filepath.Dir(folder())
	dir, err := os.MkdirTemp("", "rmd-interop-bin-")
	if err != nil {
		return "", err
	}
	builtIn = dir
	bin := filepath.Join(dir, "rmd")
	cmd := exec.Command("go", "build", "-o", bin, "./cmd/rmd")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build rmd: %w\n%s", err, out)
	}
	return bin, nil
})

// builtIn is the folder of built programs, or "".
var builtIn string

// Run runs the tests of a package and removes the built programs. TestMain calls it.
func Run(m *testing.M) int {
	code := m.Run()
	if builtIn != "" {
		_ = os.RemoveAll(builtIn) // remaining files are in the temporary folder
	}
	return code
}

// Program returns the path of the rmd under test: RMD_INTEROP_BIN, or a program built from the
// sources.
func Program(t testing.TB) string {
	t.Helper()
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// Tail returns the last lines of a file, for messages.
func Tail(path string, lines int) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return last(string(b), lines)
}

func last(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
