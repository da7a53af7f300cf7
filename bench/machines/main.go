// Program machines estimates by simulation what a cluster carries on machines that were not
// measured. The cost of each part comes from a benchmark. The program first simulates the machine
// of docs/performance.md, and prints the results beside the measured ones.
//
//	go run ./bench/machines [-replicas 3,5,7] [-cores 16] [-COST TIME]
package main

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"rmd/internal/thousands"
)

func main() {
	var c costs
	m, l := machine{}, load{}
	c.flags(flag.CommandLine)
	replicas := flag.String("replicas", "3,5,7", "`numbers` of replicas")
	flag.IntVar(&m.cores, "cores", 16, "`cores` of each replica")
	flag.DurationVar(&m.sync, "sync", measured(1).sync, "`time` of a sync of its disk")
	flag.Float64Var(&m.disk, "disk", 335, "`MB/s` that its disk writes")
	flag.Float64Var(&m.link, "link", 10_000, "`Mbit/s` that it can send")
	flag.DurationVar(&m.delay, "delay", 100*time.Microsecond, "`time` of a message to another replica")
	flag.IntVar(&l.nodes, "nodes", 50_000, "`number` of NodeManagers, which send a heartbeat a second each")
	flag.IntVar(&l.masters, "masters", 5000, "`number` of ApplicationMasters, which call once a second each")
	flag.Parse()
	if err := report(c, m, l, *replicas); err != nil {
		fmt.Fprintln(os.Stderr, "machines:", err)
		os.Exit(1)
	}
}

// report prints the comparison and the capacities.
func report(c costs, m machine, l load, replicas string) error {
	var counts []int
	for text := range strings.SplitSeq(replicas, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 99 {
			return fmt.Errorf("-replicas has %q; it takes numbers from 1 to 99, with commas between them", text)
		}
		counts = append(counts, n)
	}
	if err := check(c, m, l); err != nil {
		return err
	}
	const compared = "%-48s%10s%10s%7s  %-4s%s\n"
	fmt.Printf(compared, "ON THE MACHINE MEASURED", "MEASURED", "SIMULATED", "RATIO", "", "MEASURED BY")
	for _, r := range recorded {
		got := r.simulated()
		fmt.Printf(compared, r.what, amount(r.measured), amount(got), fmt.Sprintf("%.2f", got/r.measured), r.unit, r.by)
	}
	m.disk, m.link = m.disk*1e6, m.link*1e6/8
	const row = "%-10s%13s  %-15s%-44s%17s%23s%17s%23s%14s  %s\n"
	fmt.Printf("\n"+row, "REPLICAS", "CONTAINERS/S", "FIRST", "BUSY THEN, %: "+strings.Join(partNames[:], " "),
		"AT 50 %: COMMIT", "REPORT P50, P99", "AT 90 %: COMMIT", "REPORT P50, P99", "HEARTBEATS/S", "FIRST")
	for _, n := range counts {
		m.replicas = n
		k, h := containers(c, m, l), heartbeats(c, m)
		var busy []string
		for _, v := range k.full.use {
			busy = append(busy, fmt.Sprintf("%.0f", 100*v))
		}
		fmt.Printf(row, fmt.Sprintf("%d × %d", n, m.cores), amount(k.most), k.full.use.first(), strings.Join(busy, " "),
			millis(k.half.commit.mean), millis(k.half.report.p50, k.half.report.p99), millis(k.high.commit.mean),
			millis(k.high.report.p50, k.high.report.p99),
			amount(h.most), h.full.use.first())
	}
	return nil
}

// check returns an error for values that make no sense.
func check(c costs, m machine, l load) error {
	switch {
	case m.cores < 1 || m.sync <= 0 || m.disk <= 0 || m.link < 0 || m.delay < 0:
		return fmt.Errorf(
			"a machine needs a core, a disk and a link: -cores, -sync and -disk must be above 0, -link and -delay not below")
	case l.nodes < 1 || l.masters < 1:
		return fmt.Errorf("-nodes and -masters must be above 0")
	case c.batchEvents < 1 || c.maxInFlight < 1 || c.beat <= 0 || c.decision <= 0 || c.apply <= 0:
		return fmt.Errorf("-batch, -in-flight, -heartbeat, -decision and -apply must be above 0")
	}
	return nil
}

func millis(values ...float64) string {
	var out []string
	for _, v := range values {
		out = append(out, fmt.Sprintf("%.1f", v))
	}
	return strings.Join(out, ", ") + " ms"
}

// amount formats a value with three significant figures.
func amount(v float64) string {
	if v < 100 {
		return fmt.Sprintf("%.3g", v)
	}
	text := strconv.FormatFloat(v, 'g', 3, 64)
	v, _ = strconv.ParseFloat(text, 64)
	return thousands.Format(int64(v))
}
