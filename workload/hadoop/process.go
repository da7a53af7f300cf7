package hadoop

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ticksPerSecond is the unit of times in /proc on every Linux that Go supports.
const ticksPerSecond = 100

// processUse is the CPU time that a process has used since its start, and its memory.
type processUse struct {
	pid       int
	name      string
	cpuMicros int64
	rss       int64
}

// usage is the use of all processes at one time.
type usage struct {
	list []processUse
	own  processUse
}

// readUsage reads the use of the processes.
func readUsage(pids []int) (usage, error) {
	var u usage
	var err error
	if u.own, err = lookAt(os.Getpid()); err != nil && len(pids) == 0 {
		return usage{}, nil // a system without /proc
	}
	for _, pid := range pids {
		p, err := lookAt(pid)
		if err != nil {
			return usage{}, err
		}
		u.list = append(u.list, p)
	}
	return u, nil
}

// Used returns the processor time that a process has used since its start, and its resident memory
// in bytes. It fails without /proc.
func Used(pid int) (cpu time.Duration, resident int64, err error) {
	p, err := lookAt(pid)
	return time.Duration(p.cpuMicros) * time.Microsecond, p.rss, err
}

func lookAt(pid int) (processUse, error) {
	p := processUse{pid: pid}
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return p, fmt.Errorf("process %d: %w", pid, err)
	}
	// The name is in parentheses and may itself contain spaces and parentheses.
	text := string(stat)
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return p, fmt.Errorf("process %d: unknown form of stat", pid)
	}
	p.name = text[open+1 : end]
	fields := strings.Fields(text[end+1:])
	if len(fields) < 22 {
		return p, fmt.Errorf("process %d: unknown form of stat", pid)
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	pages, err3 := strconv.ParseInt(fields[21], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil {
		return p, fmt.Errorf("process %d: unknown form of stat", pid)
	}
	p.cpuMicros = (user + system) * (1e6 / ticksPerSecond)
	p.rss = pages * int64(os.Getpagesize())
	return p, nil
}
