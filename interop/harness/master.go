package harness

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Master is an application whose ApplicationMaster is rmd.interop.Master: it
// writes down what it sees, with times.
type Master struct {
	App    string
	report string
	c      *Cluster
}

// StartMaster submits one. mode is churn, latency, idle or linger; see
// java/rmd/interop/Master.java for what mb, count and pause mean in each.
func (c *Cluster) StartMaster(name, queue, mode string, mb, count int, pause time.Duration) *Master {
	c.t.Helper()
	return c.StartJava(name, queue, "rmd.interop.Master", mode, strconv.Itoa(mb), strconv.Itoa(count), strconv.FormatInt(pause.Milliseconds(), 10))
}

// StartJava submits an application whose ApplicationMaster is a class of ours,
// with its report as the first argument.
func (c *Cluster) StartJava(name, queue, main string, args ...string) *Master {
	c.t.Helper()
	m := &Master{report: c.path("tmp", "master-"+name), c: c}
	m.App = c.Submit(name, queue, 256, 2, c.javaLine(main, append([]string{m.report}, args...)...))
	return m
}

// javaLine is a command line for a container.
func (c *Cluster) javaLine(main string, args ...string) string {
	line := c.Java + " -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Djava.net.preferIPv4Stack=true"
	for _, p := range opens {
		line += " --add-opens=java.base/" + p + "=ALL-UNNAMED"
	}
	return line + " -cp '" + c.conf("client") + ":" + c.Classes + ":" + c.Jars + "/*' " + main + " " + strings.Join(args, " ")
}

// Submit submits an application whose ApplicationMaster is any command.
func (c *Cluster) Submit(name, queue string, mb, attempts int, command string) string {
	c.t.Helper()
	r := c.client(false, "128m", toolTime, "rmd.interop.Submit", name, queue, strconv.Itoa(mb), strconv.Itoa(attempts), command).Wait()
	id := regexp.MustCompile(`application_\d+_\d+`).FindString(r.Out)
	if r.Code != 0 || id == "" {
		c.t.Fatalf("submit %s: exit %d:\n%s", name, r.Code, r.Text())
	}
	return id
}

// Go lets one that waits go on.
func (m *Master) Go() { m.c.file("", "tmp", m.name()+".go") }

// Finish lets it unregister.
func (m *Master) Finish() { m.c.file("", "tmp", m.name()+".stop") }

// Exit lets a lingering one end its process.
func (m *Master) Exit() { m.c.file("", "tmp", m.name()+".exit") }

func (m *Master) name() string { return m.report[strings.LastIndexByte(m.report, '/')+1:] }

// Line is one thing that the ApplicationMaster wrote down.
type Line struct {
	At    time.Time
	Words []string
}

// Lines are those of the kinds asked for so far.
func (m *Master) Lines(kind string) []Line {
	b, err := os.ReadFile(m.report)
	if err != nil {
		return nil // it has not started
	}
	var out []Line
	for line := range strings.Lines(string(b)) {
		if !strings.HasSuffix(line, "\n") {
			break // it is being written
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

// Await waits until it has written so many lines of a kind.
func (m *Master) Await(kind string, n int, within time.Duration) []Line {
	m.c.t.Helper()
	var got []Line
	Await(m.c.t, fmt.Sprintf("%s wrote %d lines of %s", m.name(), n, kind), within, func() bool { got = m.Lines(kind); return len(got) >= n })
	return got
}

// Reply is one answer to allocate.
type Reply struct {
	Began, Ended time.Time
	Containers   int
	First        string // id
}

// Replies are the answers so far.
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

// grace is how old a call may be that brings containers which were granted
// before the moment looked at.
const grace = 50 * time.Millisecond

// NextContainer is the first answer after a moment whose containers were granted
// after it, as far as can be seen from the ApplicationMaster: an answer to a call
// that was under way at the moment counts only when it came noticeably later.
func (m *Master) NextContainer(after time.Time) (Reply, bool) {
	for _, r := range m.Replies() {
		if r.Containers > 0 && r.Ended.After(after) && (r.Began.After(after) || r.Ended.Sub(after) > grace) {
			return r, true
		}
	}
	return Reply{}, false
}

// Place submits unmanaged applications and says which queue and priority each gets, or why it is refused.
// Each has a user, a name, the queue that its client names, a tag and a priority; "-" is none.
func (c *Cluster) Place(submissions []string) []string {
	c.t.Helper()
	c.file(strings.ReplaceAll(strings.Join(submissions, "\n"), " ", "\t")+"\n", "tmp", "submissions")
	r := c.client(false, "200m", toolTime+time.Duration(len(submissions))*5*time.Second, "rmd.interop.Place", c.path("tmp", "submissions")).Wait()
	placed := strings.Split(strings.TrimSpace(r.Out), "\n")
	if r.Code != 0 || len(placed) != len(submissions) {
		c.t.Fatalf("place: exit %d:\n%s", r.Code, r.Text())
	}
	return placed
}
