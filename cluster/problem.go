package cluster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"rmd/internal/job"
)

// jobs are the background jobs of this package.
type jobs struct{ autopilot, digests, diskSpace, membership, snapshot *job.Job }

func newJobs(r *job.Registry) jobs {
	return jobs{r.Job(job.Autopilot), r.Job(job.Digests), r.Job(job.DiskSpace), r.Job(job.Membership), r.Job(job.Snapshot)}
}

// Problem describes what an operator should fix on this replica, or returns "". It does not include
// background jobs that fail.
func (s *survey) Problem() string {
	var all []string
	if s.full.Load() {
		all = append(all, fmt.Sprintf("disk full: %s free, writes are refused below disk.stop, %s", mebibytes(s.diskFree.Load()), mebibytes(s.cfg.DiskStop)))
	}
	if age := s.guard.OldestWrite(time.Now()); age >= s.cfg.HungGiveUp {
		all = append(all, fmt.Sprintf("the disk is slow: a write has not returned for %s", age.Round(time.Second)))
	}
	if t := s.guard.ShortageText(); t != "" {
		all = append(all, "file descriptors or memory exhausted: "+t)
	}
	if age, why := s.progress.stalls.worst(); age >= s.progress.stallLimit()/2 {
		all = append(all, fmt.Sprintf("no progress for %s: %s", age.Round(time.Second), why))
	}
	if s.cfg.Problem != nil {
		if t := s.cfg.Problem(); t != "" {
			all = append(all, t)
		}
	}
	return strings.Join(all, "; ")
}

// problems returns Problem, and the background jobs that fail, with their errors. Only members get
// it: an error may contain names of users and files.
func (s *survey) problems() string {
	return joined(s.Problem(), s.cfg.Jobs.Problem())
}

// Warning describes what will become a problem of this replica if nobody acts, or returns "".
func (s *survey) Warning() string {
	more := ""
	if s.cfg.Warning != nil {
		more = s.cfg.Warning()
	}
	return joined(s.steps.stepDownText(), more)
}

// joined joins the texts that are not empty.
func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), "; ")
}

func mebibytes(n uint64) string { return fmt.Sprintf("%d MiB", n>>20) }
