package main

import (
	"time"

	"rmd/workload/hadoop"
)

// cpu returns the processor time that all running replicas have used, or 0 without /proc.
func (c *processes) cpu() (sum time.Duration) {
	for _, p := range c.all {
		if used, _, err := hadoop.Used(p.cmd.Process.Pid); err == nil {
			sum += used
		}
	}
	return sum
}

// resident returns the resident memory of a replica in bytes, or 0 without /proc.
func (p *process) resident() int64 {
	_, bytes, err := hadoop.Used(p.cmd.Process.Pid)
	if err != nil {
		return 0
	}
	return bytes
}
