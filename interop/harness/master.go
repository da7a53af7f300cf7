package harness

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Master is an application whose ApplicationMaster is rmd.interop.Master. It writes a report of its
// observations with times.
type Master struct {
	App    string
	report string
	c      *Cluster
}

// StartMaster submits a Master. mode is churn, latency, idle or linger.
// java/rmd/interop/Master.java describes mb, count and pause for each.
func (c *Cluster) StartMaster(name, queue, mode string, mb, count int, pause time.Duration) *Master {
	c.t.Helper()
	return c.StartJava(name, queue, "rmd.interop.Master", mode, strconv.Itoa(mb), strconv.Itoa(count),
		strconv.FormatInt(pause.Milliseconds(), 10))
}

// StartJava submits an application whose ApplicationMaster is one of our classes. Its first
// argument is the path of its report.
func (c *Cluster) StartJava(name, queue, main string, args ...string) *Master {
	c.t.Helper()
	m := &Master{report: c.path("tmp", "master-"+name), c: c}
	m.App = c.Submit(name, queue, 256, 2, c.javaLine(main, append([]string{m.report}, args...)...))
	return m
}

// javaLine returns a command line for a container.
func (c *Cluster) javaLine(main string, args ...string) string {
	line := c.Java + " -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Djava.net.preferIPv4Stack=true " +
		strings.Join(opened(), " ")
	return line + " -cp '" + c.conf("client") + ":" + c.Classes + ":" + c.Jars + "/*' " + main + " " +
		strings.Join(args, " ")
}

// Submit submits an application whose ApplicationMaster is the command, and returns its id.
func (c *Cluster) Submit(name, queue string, mb, attempts int, command string) string {
	c.t.Helper()
	r := c.client(false, "128m", toolTime, "rmd.interop.Submit", name, queue, strconv.Itoa(mb), strconv.Itoa(attempts),
		command).Wait()
	id := regexp.MustCompile(`application_\d+_\d+`).FindString(r.Out)
	if r.Code != 0 || id == "" {
		c.t.Fatalf("submit %s: exit %d:\n%s", name, r.Code, r.Text())
	}
	return id
}

// Go lets a waiting ApplicationMaster continue.
func (m *Master) Go() { m.c.file("", "tmp", m.name()+".go") }

// Finish lets the ApplicationMaster unregister.
func (m *Master) Finish() { m.c.file("", "tmp", m.name()+".stop") }

// Exit lets a lingering ApplicationMaster end its process.
func (m *Master) Exit() { m.c.file("", "tmp", m.name()+".exit") }

func (m *Master) name() string { return m.report[strings.LastIndexByte(m.report, '/')+1:] }

// Line is one line of a report.
type Line struct {
	At    time.Time
	Words []string
}

// Lines returns the lines of a kind that were written so far.
func (m *Master) Lines(kind string) []Line {
	b, err := os.ReadFile(m.report)
	if err != nil {
		return nil // the ApplicationMaster has not started
	}
	var out []Line
	for line := range strings.Lines(string(b)) {
		if !strings.HasSuffix(line, "\n") {
			break // the line is incomplete
		}
		f := strings.Fields(line)
		if len(f) < 2 || f[1] != kind {
			continue
		}
		if at, err := nanos(f[0]); err == nil {
			out = append(out, Line{at, f[2:]})
		}
	}
	return out
}

func nanos(s string) (time.Time, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	return time.Unix(0, n), err
}

// Await waits until the report has n lines of a kind.
func (m *Master) Await(kind string, n int, within time.Duration) []Line {
	m.c.t.Helper()
	var got []Line
	Await(m.c.t, fmt.Sprintf("%s wrote %d lines of %s", m.name(), n, kind), within, func() bool {
		got = m.Lines(kind)
		return len(got) >= n
	})
	return got
}

// Reply is the answer to one allocate call.
type Reply struct {
	Began, Ended time.Time
	Containers   int
	First        string // id of the first container
}

// Replies returns the answers so far.
func (m *Master) Replies() []Reply {
	var out []Reply
	for _, l := range m.Lines("reply") {
		r := Reply{Ended: l.At}
		var err error
		if r.Began, err = nanos(l.Words[0]); err != nil {
			continue
		}
		if r.Containers, err = strconv.Atoi(l.Words[1]); err != nil {
			continue
		}
		r.First = l.Words[2]
		out = append(out, r)
	}
	return out
}

// grace is the maximum delay of an answer whose containers were allocated before the moment in
// question.
const grace = 50 * time.Millisecond

// NextContainer returns the first answer whose containers were allocated after a moment, as far as
// the ApplicationMaster can know. An answer to a call that was in flight at the moment counts only
// if it arrived at least grace after it.
func (m *Master) NextContainer(after time.Time) (Reply, bool) {
	for _, r := range m.Replies() {
		if r.Containers > 0 && r.Ended.After(after) && (r.Began.After(after) || r.Ended.Sub(after) > grace) {
			return r, true
		}
	}
	return Reply{}, false
}

// Place submits unmanaged applications and returns the queue and priority of each, or why it was
// refused. A submission has a user, a name, a queue, a tag and a priority; "-" means none.
func (c *Cluster) Place(submissions []string) []string {
	c.t.Helper()
	c.file(strings.ReplaceAll(strings.Join(submissions, "\n"), " ", "\t")+"\n", "tmp", "submissions")
	r := c.client(false, "200m", toolTime+time.Duration(len(submissions))*5*time.Second, "rmd.interop.Place",
		c.path("tmp", "submissions")).Wait()
	placed := strings.Split(strings.TrimSpace(r.Out), "\n")
	if r.Code != 0 || len(placed) != len(submissions) {
		c.t.Fatalf("place: exit %d:\n%s", r.Code, r.Text())
	}
	return placed
}
