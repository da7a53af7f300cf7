package harness

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Result is the result of a command.
type Result struct {
	Args     []string
	Out, Err string
	Code     int // 124 after a timeout
	Took     time.Duration
}

// Text returns all output of the command.
func (r Result) Text() string { return r.Out + r.Err }

// Last returns the exit code and the last lines of output, for messages.
func (r Result) Last() string { return fmt.Sprintf("exit %d:\n%s", r.Code, last(r.Text(), 15)) }

// Running is a running command.
type Running struct {
	args     []string
	out, err buffer
	done     chan struct{}
	cancel   func()
	result   Result
}

// buffer can be read while it is written.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// Text returns the output so far.
func (r *Running) Text() string { return r.out.String() + r.err.String() }

// Wait waits for the end of the command.
func (r *Running) Wait() Result {
	<-r.done
	return r.result
}

// client starts a Java program with the client configuration. If loud, its log goes to standard
// error, otherwise to a file.
func (c *Cluster) client(loud bool, heap string, within time.Duration, main string, args ...string) *Running {
	c.t.Helper()
	return c.program("client", loud, heap, within, main, args...)
}

// program is client with the configuration of one of the cluster's processes.
func (c *Cluster) program(conf string, loud bool, heap string, within time.Duration, main string,
	args ...string) *Running {
	c.t.Helper()
	name := main[strings.LastIndexByte(main, '.')+1:]
	c.began[name]++
	log := ""
	if !loud {
		log = c.path("log", fmt.Sprintf("%s-%d.txt", name, c.began[name]))
	}
	return c.run(within, append(append(c.jvm(conf, heap, log, true), "-cp", c.classpath(c.conf(conf)), main), args...),
		args)
}

// run starts a JVM. args are the part of its command line for the Result.
func (c *Cluster) run(within time.Duration, line, args []string, env ...string) *Running {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	cmd := exec.CommandContext(ctx, c.Java, line...)
	r := &Running{args: args, done: make(chan struct{}), cancel: cancel}
	cmd.Dir, cmd.Env = c.Dir, append(append(c.environment(), "HADOOP_CONF_DIR="+c.ClientConf()), env...)
	cmd.Stdout, cmd.Stderr = &r.out, &r.err
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = 5 * time.Second
	began := time.Now()
	if err := cmd.Start(); err != nil {
		cancel()
		c.t.Fatalf("start java %s: %v", strings.Join(args, " "), err)
	}
	go func() {
		err := cmd.Wait()
		r.result = Result{Args: args, Out: r.out.String(), Err: r.err.String(), Took: time.Since(began)}
		var code *exec.ExitError
		switch {
		case ctx.Err() != nil:
			r.result.Code = 124
		case errors.As(err, &code):
			r.result.Code = code.ExitCode()
		case err != nil:
			r.result.Code = -1
		}
		cancel()
		close(r.done)
	}()
	return r
}

// mains are the main classes of the yarn commands.
var mains = map[string]string{
	"application": "ApplicationCLI", "app": "ApplicationCLI", "applicationattempt": "ApplicationCLI",
	"container": "ApplicationCLI",
	"node":      "NodeCLI", "queue": "QueueCLI", "rmadmin": "RMAdminCLI", "cluster": "ClusterCLI", "top": "TopCLI",
	"logs":          "LogsCLI",
	"schedulerconf": "SchedConfCLI", "nodeattributes": "NodeAttributesCLI",
}

// command converts a command line to a main class and its arguments. For application commands, the
// first word is also an argument.
func command(words []string) (main string, args []string) {
	if words[0] == "mapred" {
		return "org.apache.hadoop.mapred.JobClient", words[2:] // mapred job ...
	}
	args = words[1:]
	if mains[words[0]] == "ApplicationCLI" {
		args = words
	}
	return "org.apache.hadoop.yarn.client.cli." + mains[words[0]], args
}

const toolTime = 90 * time.Second

// Yarn runs one command line, such as "application", "-list", in its own JVM.
func (c *Cluster) Yarn(words ...string) Result {
	c.t.Helper()
	main, args := command(words)
	return c.client(false, "128m", toolTime, main, args...).Wait()
}

// Mapred runs one command line, such as "job", "-list".
func (c *Cluster) Mapred(words ...string) Result {
	c.t.Helper()
	return c.Yarn(append([]string{"mapred"}, words...)...)
}

// Batch runs command lines one after the other in one JVM. Each line is a string of words separated
// by spaces.
func (c *Cluster) Batch(lines ...string) []Result {
	c.t.Helper()
	var text strings.Builder
	for _, l := range lines {
		main, args := command(strings.Fields(l))
		fmt.Fprintln(&text, strings.Join(append([]string{main}, args...), "\t"))
	}
	c.file(text.String(), "tmp", "batch")
	r := c.client(false, "200m", time.Minute+time.Duration(len(lines))*toolTime/2, "rmd.interop.Batch",
		c.path("tmp", "batch"), "45").Wait()
	answers := strings.Split(strings.TrimRight(r.Out, "\n"), "\n")
	if r.Code != 0 || len(answers) != len(lines) {
		c.t.Fatalf("batch of %d commands: exit %d, %d answers\n%s", len(lines), r.Code, len(answers), r.Text())
	}
	var all []Result
	for i, a := range answers {
		one := Result{Args: strings.Fields(lines[i])}
		f := strings.Split(a, " ")
		if _, err := fmt.Sscan(f[0], &one.Code); err != nil || len(f) != 3 {
			c.t.Fatalf("batch answered %q", a)
		}
		one.Code &= 0xff // as in a shell
		one.Out, one.Err = c.decode(f[1]), c.decode(f[2])
		all = append(all, one)
	}
	return all
}

func (c *Cluster) decode(s string) string {
	c.t.Helper()
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		c.t.Fatalf("batch answered %q: %v", s, err)
	}
	return string(b)
}

// Top runs yarn top until it has drawn its screen screens times, and stops it.
func (c *Cluster) Top(screens int) Result {
	c.t.Helper()
	main, args := command([]string{"top", "-rows", "30", "-cols", "200", "-delay", "1"})
	r := c.client(false, "128m", toolTime, main, args...)
	Await(c.t, "yarn top draws", time.Minute, func() bool {
		select {
		case <-r.done:
			return true
		default:
		}
		return strings.Count(r.out.String(), "YARN top") >= screens
	})
	r.cancel()
	return r.Wait()
}
