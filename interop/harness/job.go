package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// Shell is a DistributedShell application: a number of containers that each run a command. The
// comments name the defaults.
type Shell struct {
	Name       string // shell
	Queue      string // default
	Containers int    // 1
	MB         int    // 256
	Command    string
	Args       string
	Within     time.Duration // 3 minutes; after it, the client kills the application
	More       []string      // more arguments of the client
}

// StartShell submits the application. The client ends with the application, with exit code 0 if it
// succeeded and 2 if not.
func (c *Cluster) StartShell(s Shell) *Running {
	c.t.Helper()
	def := func(v *string, d string) {
		if *v == "" {
			*v = d
		}
	}
	def(&s.Name, "shell")
	def(&s.Queue, "default")
	if s.Within == 0 {
		s.Within = 3 * time.Minute
	}
	jars, err := filepath.Glob(filepath.Join(c.Jars, "hadoop-yarn-applications-distributedshell-*.jar"))
	if err != nil || len(jars) == 0 {
		c.t.Fatalf("no jar of DistributedShell in %s", c.Jars)
	}
	args := []string{"-jar", jars[0], "-appname", s.Name, "-queue", s.Queue, "-num_containers",
		strconv.Itoa(max(1, s.Containers)),
		"-container_memory", strconv.Itoa(max(256, s.MB)), "-container_vcores", "1", "-master_memory", "256",
		"-shell_command", s.Command, "-timeout", strconv.FormatInt(s.Within.Milliseconds(), 10)}
	if s.Args != "" {
		args = append(args, "-shell_args", s.Args)
	}
	return c.client(true, "128m", s.Within+30*time.Second, "org.apache.hadoop.yarn.applications.distributedshell.Client",
		append(args, s.More...)...)
}

// Shell runs the application and waits for its end.
func (c *Cluster) Shell(s Shell) Result {
	c.t.Helper()
	return c.StartShell(s).Wait()
}

var submitted = regexp.MustCompile(`Submitted application (application_\d+_\d+)|Running job: job(_\d+_\d+)`)

// Submitted waits until the client prints the id of its application.
func (c *Cluster) Submitted(r *Running) string {
	c.t.Helper()
	id := ""
	Await(c.t, "the application is submitted", 90*time.Second, func() bool {
		if m := submitted.FindStringSubmatch(r.Text()); m != nil {
			id = m[1]
			if id == "" {
				id = "application" + m[2]
			}
			return true
		}
		select {
		case <-r.done:
			c.t.Fatalf("it was not submitted, exit %d:\n%s", r.result.Code, r.Text())
		default:
		}
		return false
	})
	return id
}

// jobTime is the time limit of a MapReduce job.
const jobTime = 5 * time.Minute

// Pi runs MapReduce's estimate of pi.
func (c *Cluster) Pi(maps, samples int) Result {
	c.t.Helper()
	return c.client(true, "160m", jobTime, "org.apache.hadoop.examples.ExampleDriver", "pi", strconv.Itoa(maps),
		strconv.Itoa(samples)).Wait()
}

// WordCount counts the words of texts with two reducers, whose input is shuffled between the nodes.
// It returns their output.
func (c *Cluster) WordCount(texts ...string) (Result, string) {
	c.t.Helper()
	in := c.folder("tmp", "words")
	for i, text := range texts {
		c.file(text, "tmp", "words", fmt.Sprintf("part%d.txt", i))
	}
	out := c.path("tmp", "counted")
	from, to := "file://"+in, "file://"+out
	if c.FileSystem != nil {
		from, to = c.staging("words"), c.staging("counted")
		if r := c.FS("-put", in, from); r.Code != 0 {
			return r, ""
		}
	}
	r := c.client(true, "160m", jobTime, "org.apache.hadoop.examples.ExampleDriver", "wordcount",
		"-Dmapreduce.job.reduces=2", from, to).Wait()
	if c.FileSystem != nil {
		return r, c.FS("-cat", to+"/part-r-*").Out
	}
	parts, err := filepath.Glob(filepath.Join(out, "part-r-*"))
	if err != nil {
		c.t.Fatal(err)
	}
	all := ""
	for _, p := range parts {
		b, err := os.ReadFile(p)
		if err != nil {
			c.t.Fatal(err)
		}
		all += string(b)
	}
	return r, all
}

// StartSleep starts a MapReduce job whose tasks only sleep. more are settings such as
// -Dmapreduce.map.memory.mb=2048.
func (c *Cluster) StartSleep(maps, reduces int, mapTime, reduceTime, within time.Duration, more ...string) *Running {
	c.t.Helper()
	ms := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	return c.client(true, "160m", within, "org.apache.hadoop.mapreduce.SleepJob",
		append(more, "-m", strconv.Itoa(maps), "-r", strconv.Itoa(reduces), "-mt", ms(mapTime), "-rt", ms(reduceTime))...)
}

// Job is the history server's view of a finished MapReduce job.
type Job struct {
	State                                           string `json:"state"`
	MapsTotal                                       int    `json:"mapsTotal"`
	ReducesTotal                                    int    `json:"reducesTotal"`
	FailedMapAttempts, KilledMapAttempts            int
	SuccessfulMapAttempts, SuccessfulReduceAttempts int
	FailedReduceAttempts, KilledReduceAttempts      int
	Masters                                         int // number of ApplicationMaster attempts
	TaskAttempts                                    []TaskAttempt
}

// TaskAttempt is one run of one task.
type TaskAttempt struct {
	ID        string `json:"id"`
	State     string `json:"state"`
	Container string `json:"assignedContainerId"`
}

// list is a list in a document. Servers of Hadoop 3.5 write a list of one element as this element.
type list[T any] []T

func (l *list[T]) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(text, []byte("{")) {
		*l = make(list[T], 1)
		return json.Unmarshal(text, &(*l)[0])
	}
	return json.Unmarshal(text, (*[]T)(l))
}

// Job reads the job of an application from the history server.
func (c *Cluster) Job(app string) Job {
	c.t.Helper()
	id := "job" + app[len("application"):]
	at := "/ws/v1/history/mapreduce/jobs/" + id
	var doc struct {
		Job Job `json:"job"`
	}
	Await(c.t, "the history server knows "+id, time.Minute, func() bool { return Get(c.History.Web, at, &doc) == nil })
	var masters struct {
		All struct {
			Attempts list[struct{}] `json:"jobAttempt"`
		} `json:"jobAttempts"`
	}
	c.history(at+"/jobattempts", &masters)
	doc.Job.Masters = len(masters.All.Attempts)
	var tasks struct {
		All struct {
			Tasks list[struct {
				ID string `json:"id"`
			}] `json:"task"`
		} `json:"tasks"`
	}
	c.history(at+"/tasks", &tasks)
	for _, task := range tasks.All.Tasks {
		var attempts struct {
			All struct {
				Attempts list[TaskAttempt] `json:"taskAttempt"`
			} `json:"taskAttempts"`
		}
		c.history(at+"/tasks/"+task.ID+"/attempts", &attempts)
		doc.Job.TaskAttempts = append(doc.Job.TaskAttempts, attempts.All.Attempts...)
	}
	return doc.Job
}

func (c *Cluster) history(path string, doc any) {
	c.t.Helper()
	if err := Get(c.History.Web, path, doc); err != nil {
		c.t.Fatalf("history server: %v", err)
	}
}
