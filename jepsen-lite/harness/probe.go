package harness

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
)

// The kinds of faults.
const (
	Crash      = "crash"
	PauseIt    = "pause"
	Partition  = "partition"
	OneWay     = "one-way"
	Delay      = "delay"
	Loss       = "loss"
	ThinPipe   = "thin-pipe"
	PowerLoss  = "power-cut"
	DiskFull   = "disk-full"
	SyncFails  = "fsync-fails"
	SlowDisk   = "slow-disk"
	HungDisk   = "hung-disk"
	ReadOnly   = "read-only"
	Damage     = "damage"
	LostDisk   = "lost-disk"
	Members    = "membership"
	Backup     = "backup"
	Recover    = "recover"
	Hostile    = "hostile-peer"
	Upgrade    = "upgrade"
	Clock      = "clock"
	Failpoints = "point"
	Stdio      = "stdio"
	Certs      = "certificates"
)

// The values of Capability.Answer.
const (
	Yes      = "yes"
	Fallback = "by fallback"
	No       = "no"
)

// Capability says whether a kind of fault can run on this machine.
type Capability struct {
	Fault  string
	Answer string // yes, by fallback, no
	Why    string // how it runs, or why it cannot
}

// Offer describes the faults that a machine supports.
type Offer struct {
	Network string // Loopback or Namespaces
	Disk    string // Directory or Loop
	All     []Capability
}

// Can reports whether a kind of fault can run, directly or by a fallback.
func (o Offer) Can(fault string) bool {
	for _, c := range o.All {
		if c.Fault == fault {
			return c.Answer != No
		}
	}
	return false
}

// Why returns how a kind of fault runs here, or why it cannot.
func (o Offer) Why(fault string) string {
	for _, c := range o.All {
		if c.Fault == fault {
			return strings.ReplaceAll(c.Why, "\n", "; ")
		}
	}
	return "it is not known"
}

// Probe tests what the machine supports for a cluster with this configuration. old says whether
// there is a program of an earlier version. It returns an error if cfg demands a network or a disk
// that the machine does not support.
func Probe(cfg Config, old bool) (Offer, error) {
	o := Offer{Network: Loopback, Disk: Directory}
	noSpaces := fmt.Errorf("--network %s", Loopback)
	if cfg.Network != Loopback {
		noSpaces = mayNamespace()
	}
	noLoop := fmt.Errorf("--disk %s", Directory)
	if cfg.Disk != Directory {
		noLoop = mayLoop(cfg.Dir)
	}
	switch {
	case noSpaces != nil && cfg.Network == Namespaces:
		return o, fmt.Errorf("network namespaces were asked for and cannot be had: %w", noSpaces)
	case noLoop != nil && cfg.Disk == Loop:
		return o, fmt.Errorf("disks on loop devices were asked for and cannot be had: %w", noLoop)
	}
	if noSpaces == nil {
		o.Network = Namespaces
	}
	if noLoop == nil {
		o.Disk = Loop
	}
	o.networkFaults(noSpaces)
	o.diskFaults(noLoop, mayTrace())
	for _, f := range []string{Damage, LostDisk, Members, Backup, Recover, Hostile} {
		o.add(f, Yes, "")
	}
	if old {
		o.add(Upgrade, Yes, "")
	} else {
		o.add(Upgrade, No, "no program of an earlier version: name one with --old")
	}
	if err := mayClock(); err != nil {
		o.add(Clock, No, err.Error())
	} else {
		o.add(Clock, Yes, "the kernel's clock_gettime, changed in the memory of one process")
	}
	if cfg.Failpoints {
		o.add(Failpoints, Yes, "rmd server --failpoints")
	} else {
		o.add(Failpoints, No, "a program of an earlier version may not know how")
	}
	return o, nil
}

func (o *Offer) add(fault, answer, why string) {
	o.All = append(o.All, Capability{Fault: fault, Answer: answer, Why: why})
}

func (o *Offer) networkFaults(noSpaces error) {
	o.add(Crash, Yes, "SIGKILL")
	o.add(PauseIt, Yes, "SIGSTOP")
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		o.add(Stdio, No, err.Error())
	} else {
		o.add(Stdio, Yes, "a pipe from each replica to its log")
	}
	if noSpaces != nil {
		o.add(Certs, No, "replicas on loopback have no certificates ("+noSpaces.Error()+")")
		for _, f := range []string{Partition, OneWay, Delay, Loss, ThinPipe} {
			o.add(f, Fallback, "a proxy on every link ("+noSpaces.Error()+")")
		}
		return
	}
	o.add(Certs, Yes, "files of each replica")
	o.add(Partition, Yes, "namespaces, rules of routing policy")
	o.add(OneWay, Yes, "namespaces, rules of routing policy")
	if err := mayNetem(); err != nil {
		o.add(Delay, No, "the kernel has no netem; --network loopback has a fallback")
		o.add(Loss, No, "the kernel has no netem; --network loopback has a fallback")
	} else {
		o.add(Delay, Yes, "netem")
		o.add(Loss, Yes, "netem")
	}
	o.add(ThinPipe, Yes, "tbf")
}

func (o *Offer) diskFaults(noLoop, noTrace error) {
	for _, f := range []string{PowerLoss, DiskFull, ReadOnly, HungDisk} {
		if noLoop != nil {
			o.add(f, No, "no loop devices: "+noLoop.Error())
		} else {
			o.add(f, Yes, "ext4 on a loop device")
		}
	}
	for _, f := range []string{SyncFails, SlowDisk} {
		if noTrace != nil {
			o.add(f, No, noTrace.Error())
		} else {
			o.add(f, Yes, "strace")
		}
	}
}

// Write prints the capabilities as a table.
func (o Offer) Write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range o.All {
		text := c.Answer
		if c.Why != "" {
			text += ": " + c.Why
		}
		fmt.Fprintf(t, "%s\t%s\n", c.Fault, text)
	}
	return t.Flush()
}
