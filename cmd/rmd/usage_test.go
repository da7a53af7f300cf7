package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTick is the kernel's unit of a process's CPU time on Linux.
const clockTick = 10 * time.Millisecond

// cpu is what all running replicas have used of it; 0 where /proc is not.
func (c *processes) cpu() time.Duration {
	var sum time.Duration
	for _, p := range c.all {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		for _, at := range []int{11, 12} { // user and system time
			n, _ := strconv.ParseInt(fields[at], 10, 64)
			sum += time.Duration(n) * clockTick
		}
	}
	return sum
}

// resident is the memory of a replica in bytes; 0 where /proc is not.
func (p *process) resident() int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	pages, _ := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	return pages * int64(os.Getpagesize())
}
