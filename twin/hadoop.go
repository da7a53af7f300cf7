package twin

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Hadoop is a JVM that plays histories on Hadoop's CapacityScheduler, one after the other.
type Hadoop struct{ *jvm }

// jvm runs a program of interop/java.
type jvm struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	errs *bytes.Buffer
}

// jvmFlags are the flags of every JVM. Hadoop uses packages that a JDK 17 hides, and IPv6 name
// look-ups must be avoided. Without the other flags, a JVM would write its own warnings to standard
// output, among the observations.
var jvmFlags = []string{"-Xmx512m", "-XX:+UseSerialGC", "-Xshare:auto", "-Djava.net.preferIPv4Stack=true",
	"--add-opens=java.base/java.lang=ALL-UNNAMED", "-XX:+DisplayVMOutputToStderr", "-Xlog:disable",
	"-Xlog:all=warning:stderr"}

// StartHadoop starts a JVM with the jars and classes in the cache folder of interop/fetch.
func StartHadoop(cache string) (*Hadoop, error) {
	j, err := startJVM(cache, "rmd.interop.Twin")
	return &Hadoop{j}, err
}

func startJVM(cache, class string, arguments ...string) (*jvm, error) {
	java := "java"
	if home := os.Getenv("JAVA_HOME"); home != "" {
		java = filepath.Join(home, "bin", "java")
	}
	h := &jvm{errs: &bytes.Buffer{}}
	args := append(slices.Clone(jvmFlags), "-cp",
		filepath.Join(cache, "classes")+":"+filepath.Join(cache, "lib", "*"), class)
	h.cmd = exec.Command(java, append(args, arguments...)...)
	h.cmd.Stderr = h.errs
	var err error
	if h.in, err = h.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	h.out = bufio.NewReaderSize(out, 1<<16)
	if err := h.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the JVM: %w", err)
	}
	return h, nil
}

// Play plays a whole history and returns an observation for each step.
func (h *Hadoop) Play(history *History) ([]Observation, error) {
	sent := make(chan error, 1)
	go func() {
		_, err := io.WriteString(h.in, history.String()+"end\n")
		sent <- err
	}()
	out := make([]Observation, 0, len(history.Steps))
	for range history.Steps {
		var o Observation
		for {
			line, err := h.readLine()
			if err != nil {
				return out, err
			}
			if line == "." {
				break
			}
			o = append(o, line)
		}
		out = append(out, o)
	}
	return out, <-sent
}

// ask writes a question and reads an answer of the given number of lines.
func (h *jvm) ask(question string, lines int) ([]string, error) {
	if _, err := io.WriteString(h.in, question); err != nil {
		return nil, err
	}
	out := make([]string, lines)
	for i := range out {
		var err error
		if out[i], err = h.readLine(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (h *jvm) readLine() (string, error) {
	line, err := h.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("the JVM has ended: %w\n%s", err, h.errs)
	}
	return strings.TrimSuffix(line, "\n"), nil
}

// Close ends the JVM.
func (h *jvm) Close() error {
	h.in.Close()
	return h.cmd.Wait()
}
