package cluster

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Problem describes what an operator should fix on this replica, or returns "". It does not include
// background jobs that fail.
func (s *survey) Problem() string {
	var all []string
	if s.Full.Load() {
		all = append(all, fmt.Sprintf("disk full: %s free, writes are refused below disk.stop, %s",
			mebibytes(s.DiskFree.Load()), mebibytes(s.Config.DiskStop)))
	}
	if age := s.Guard.OldestWrite(time.Now()); age >= s.Config.HungGiveUp {
		all = append(all, fmt.Sprintf("the disk is slow: a write has not returned for %s", age.Round(time.Second)))
	}
	if t := s.Guard.ShortageText(); t != "" {
		all = append(all, "file descriptors or memory exhausted: "+t)
	}
	if age, why := s.progress.Stalls.Worst(); age >= s.progress.StallLimit()/2 {
		all = append(all, fmt.Sprintf("no progress for %s: %s", age.Round(time.Second), why))
	}
	if s.Config.Problem != nil {
		if t := s.Config.Problem(); t != "" {
			all = append(all, t)
		}
	}
	return strings.Join(all, "; ")
}

// problems returns Problem, and the background jobs that fail, with their errors. Only members get
// it: an error may contain names of users and files.
func (s *survey) problems() string {
	return joined(s.Problem(), s.Config.Jobs.Problem())
}

// Warning describes what will become a problem of this replica if nobody acts, or returns "".
func (s *survey) Warning() string {
	more := ""
	if s.Config.Warning != nil {
		more = s.Config.Warning()
	}
	return joined(s.steps.stepDownText(), more)
}

// joined joins the texts that are not empty.
func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), "; ")
}

func mebibytes(n uint64) string { return fmt.Sprintf("%d MiB", n>>20) }
