package replica

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"rmd/api"
	"rmd/workload"
	"rmd/workload/trace"
)

// largeJobName is the name of the application that the key j submits, and k if nothing is reserved.
const largeJobName = "whole-node"

// devJob is what became of the large application that the key j or k submitted last.
type devJob struct {
	queue   string
	since   int64  // when rmd dev began: jobs of an earlier run with --data are older
	id      string // of the application; "" so far
	began   bool   // its container was allocated
	waited  time.Duration
	ended   bool
	reserve *api.Reservation // that it holds now, or nil
}

// follow reads what became of the job. seen has the applications of earlier jobs.
func (d *devCluster) follow(ctx context.Context, j *devJob, seen map[string]bool) error {
	if j.id == "" {
		for app, err := range d.client.Apps(ctx, url.Values{"name": {largeJobName}, "user": {"you"}}) {
			if err != nil {
				return err
			}
			if !seen[app.ID] && app.SubmittedMillis >= j.since {
				j.id, seen[app.ID] = app.ID, true
			}
		}
	}
	if j.id == "" || j.ended {
		return nil
	}
	app, err := d.client.App(ctx, j.id)
	if err != nil {
		return err
	}
	j.ended = app.EndedMillis > 0
	if j.began || j.ended || app.Containers == 0 {
		return nil
	}
	a, err := d.client.Get(ctx, "/v1/apps/"+url.PathEscape(j.id)+"/containers", nil)
	if err != nil {
		return err
	}
	var doc api.Containers
	if err := a.Decode(&doc); err != nil {
		return err
	}
	j.allocated(app, doc.Containers)
	return nil
}

// allocated looks for the container of the job. The time that it waited is by the clock of the cluster.
func (j *devJob) allocated(app api.App, cs []api.Container) {
	for _, c := range cs {
		if !c.AM {
			j.began, j.waited = true, time.Duration(c.AllocatedMillis-app.SubmittedMillis)*time.Millisecond
		}
	}
}

// reserved looks for the reservation of the job.
func (j *devJob) reserved(rs []api.Reservation) {
	j.reserve = nil
	for _, r := range rs {
		if r.App == j.id && !r.AM {
			j.reserve = &r
		}
	}
}

// line says what became of the job.
func (j devJob) line() string {
	s := "job " + largeJobName + " in " + j.queue + ": "
	switch {
	case j.reserve != nil:
		host, _, _ := strings.Cut(j.reserve.Node, ":")
		s += fmt.Sprintf("reserved %s (%s)", host, j.reserve.ID)
	case j.began:
		s += fmt.Sprintf("started after %.1f s", j.waited.Seconds())
		if j.ended {
			s += ", has ended"
		}
	case j.ended:
		s += "has ended"
	case j.id != "":
		s += "waits for a node, or to reserve one"
	default:
		s += "is submitted"
	}
	return s
}

// largeJob is an application with containers that need a node each which is almost empty. It leaves
// room for AMs.
func (d *devCluster) largeJob(containers int) trace.Job {
	size := workload.Largest(d.work.Nodes)
	return trace.Job{Name: largeJobName, User: "you", Queue: d.largeQueue, Tasks: []trace.TaskGroup{
		{Count: containers, MemoryMB: size.MemoryMB * 5 / 6, VCores: max(size.VCores*11/12, 1), GPUs: size.GPUs,
			Duration: time.Duration(10 * float64(time.Second) * d.work.Speed), Priority: 1, After: -1}}}
}
