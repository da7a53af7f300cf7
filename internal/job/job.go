// Package job records how the background jobs of one replica are doing. Each job reports the end of
// each of its runs. Metrics, health, REST and the pages read the records, so that no job fails
// unseen.
//
// Table lists all jobs. internal/tidy checks that each goroutine and timer of the program belongs to
// one of them, or says why it does not.
package job

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// Name is the name of a job, as metrics and REST show it.
type Name string

// Kind describes a job.
type Kind struct {
	Name Name
	// Does says what the job does, as the end of "cannot …".
	Does string
	// After is how many failures in a row are a problem.
	After int
	// Lasts is how long a failure is a problem if the job does not run again. 0 means until the job
	// succeeds. It is set for jobs that run only when somebody needs their result.
	Lasts time.Duration
}

// The names of the jobs.
const (
	Audit        Name = "audit"
	Autopilot    Name = "autopilot"
	Certificates Name = "certificates"
	Digests      Name = "digests"
	DiskSpace    Name = "disk-space"
	EventCounts  Name = "event-counts"
	Forecasts    Name = "forecasts"
	Groups       Name = "groups"
	Init         Name = "init"
	Launcher     Name = "am-launcher"
	Membership   Name = "membership"
	Racks        Name = "racks"
	Reload       Name = "reload"
	Samples      Name = "samples"
	Shadow       Name = "shadow"
	Snapshot     Name = "snapshot"
	Tokens       Name = "tokens"
)

// Table lists all jobs, sorted by name.
var Table = []Kind{
	{Launcher, "follow the containers of ApplicationMasters", 5, 0},
	{Audit, "record an operation in the audit log", 1, time.Hour},
	{Autopilot, "promote or remove a replica", 1, 0},
	{Certificates, "read the changed certificates or the list of revoked ones", 1, 0},
	{Digests, "stop a replica whose state differs", 1, 0},
	{DiskSpace, "read the free space of the disk", 1, 0},
	{EventCounts, "count events for the metrics", 5, 0},
	{Forecasts, "keep the record of forecasts", 1, 0},
	{Groups, "find the groups of users", 3, time.Hour},
	{Init, "give the new cluster its first queues", 1, 0},
	{Membership, "take part in the membership", 1, 0},
	{Racks, "find the racks of hosts", 3, time.Hour},
	{Reload, "read the configuration again", 1, 0},
	{Samples, "save the samples for the plots", 1, 0},
	{Shadow, "run the shadow", 1, 0},
	{Snapshot, "write snapshots", 1, 0},
	{Tokens, "renew the tokens of applications", 5, time.Hour},
}

// Status is the record of a job.
type Status struct {
	Name Name
	Does string
	// Runs counts the runs that have ended, Failures those that failed, and InARow those that failed
	// since the last success.
	Runs, Failures, InARow uint64
	// Success and Failure are the times of the last success and of the last failure. They are zero
	// if there was none.
	Success, Failure time.Time
	// Err is the last error, or "" if the last run succeeded.
	Err string
	// Problem says what fails, or is "" if the job does not count as failing.
	Problem string
}

// Registry has the jobs of one replica. Its methods may be called from any goroutine, and on a nil
// registry, which records nothing.
type Registry struct {
	now func() time.Time

	mu   sync.Mutex
	jobs map[Name]*Job
}

// Job is one job. Its methods may be called from any goroutine, and on a nil job.
type Job struct {
	kind Kind
	now  func() time.Time

	mu sync.Mutex
	s  Status
}

// New returns a registry without jobs. now returns the current time.
func New(now func() time.Time) *Registry { return &Registry{now: now, jobs: map[Name]*Job{}} }

// Job registers the job with a name, which must be in Table. Further calls return the same job.
func (r *Registry) Job(name Name) *Job {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if j := r.jobs[name]; j != nil {
		return j
	}
	for _, k := range Table {
		if k.Name == name {
			r.jobs[name] = &Job{kind: k, now: r.now, s: Status{Name: k.Name, Does: k.Does}}
			return r.jobs[name]
		}
	}
	panic("job: " + string(name) + " is not in the table")
}

// Status returns the records of the registered jobs, in the order of Table.
func (r *Registry) Status() []Status {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Status
	for _, k := range Table {
		if j := r.jobs[k.Name]; j != nil {
			out = append(out, j.status())
		}
	}
	return out
}

// Problem names the jobs that fail, or returns "".
func (r *Registry) Problem() string {
	var all []string
	for _, s := range r.Status() {
		if s.Problem != "" {
			all = append(all, s.Problem)
		}
	}
	return strings.Join(all, "; ")
}

// errMax limits the stored text of an error, in bytes.
const errMax = 300

// Done records the end of a run. It returns err.
func (j *Job) Done(err error) error {
	if j == nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.s.Runs++
	if err == nil {
		j.s.InARow, j.s.Err, j.s.Success = 0, "", j.now()
		return nil
	}
	j.s.Failures++
	j.s.InARow++
	j.s.Err, j.s.Failure = clip(err.Error()), j.now()
	return err
}

// Failing reports whether the last run failed.
func (j *Job) Failing() bool {
	if j == nil {
		return false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.s.InARow > 0
}

func (j *Job) status() Status {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.s
	if s.InARow < uint64(j.kind.After) || s.InARow == 0 || j.kind.Lasts > 0 && j.now().Sub(s.Failure) > j.kind.Lasts {
		return s
	}
	times := ""
	if s.InARow > 1 {
		times = fmt.Sprintf(" (%d times in a row)", s.InARow)
	}
	s.Problem = fmt.Sprintf("%s: cannot %s%s: %s", s.Name, s.Does, times, s.Err)
	return s
}

// clip returns a text in one line of at most errMax bytes.
func clip(s string) string {
	if len(s) > errMax {
		s = s[:errMax] + "…"
	}
	return strings.ToValidUTF8(strings.Join(strings.Fields(s), " "), "?")
}
