package twin

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Hadoop is a JVM that plays histories into Hadoop's CapacityScheduler, one after the other.
type Hadoop struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	errs *bytes.Buffer
}

// jvmFlags: Hadoop looks into packages that a JDK 17 hides, and its name service must not be asked. A
// JVM writes its own warnings to standard output, among the observations, unless it is told not to.
var jvmFlags = []string{"-Xmx512m", "-XX:+UseSerialGC", "-Xshare:auto", "-Djava.net.preferIPv4Stack=true",
	"--add-opens=java.base/java.lang=ALL-UNNAMED", "-XX:+DisplayVMOutputToStderr", "-Xlog:disable", "-Xlog:all=warning:stderr"}

// StartHadoop starts a JVM on the jars and classes in cache, which interop/fetch has laid there.
func StartHadoop(cache string) (*Hadoop, error) {
	java := "java"
	if home := os.Getenv("JAVA_HOME"); home != "" {
		java = filepath.Join(home, "bin", "java")
	}
	h := &Hadoop{errs: &bytes.Buffer{}}
	args := append(jvmFlags, "-cp", filepath.Join(cache, "classes")+":"+filepath.Join(cache, "lib", "*"), "rmd.interop.Twin")
	h.cmd = exec.Command(java, args...)
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

// Play plays a whole history; an observation for each step.
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
			line, err := h.out.ReadString('\n')
			if err != nil {
				return out, fmt.Errorf("the JVM has ended: %w\n%s", err, h.errs)
			}
			line = strings.TrimSuffix(line, "\n")
			if line == "." {
				break
			}
			o = append(o, line)
		}
		out = append(out, o)
	}
	return out, <-sent
}

// Close ends the JVM.
func (h *Hadoop) Close() error {
	h.in.Close()
	return h.cmd.Wait()
}
