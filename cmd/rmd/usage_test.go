package main

import (
	"time"

	"rmd/workload/hadoop"
)

// cpu is what all running replicas have used of it; 0 where /proc is not.
func (c *processes) cpu() (sum time.Duration) {
	for _, p := range c.all {
		if used, _, err := hadoop.Used(p.cmd.Process.Pid); err == nil {
			sum += used
		}
	}
	return sum
}

// resident is the memory of a replica in bytes; 0 where /proc is not.
func (p *process) resident() int64 {
	_, bytes, err := hadoop.Used(p.cmd.Process.Pid)
	if err != nil {
		return 0
	}
	return bytes
}
