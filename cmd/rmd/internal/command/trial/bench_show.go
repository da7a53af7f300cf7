package trial

import (
	"encoding/json"
	"fmt"
	"strings"

	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/internal/bytesize"
	load "rmd/workload/hadoop"
)

// showBench prints the result of a measurement.
func showBench(c *verb.Call, r *load.Result) error {
	switch f := c.Format(); f {
	case output.JSON, output.YAML:
		doc, err := json.Marshal(r)
		if err != nil {
			return err
		}
		return output.WriteDocument(c.Program.Out, f, doc)
	case output.JSONL:
		return output.WriteLine(c.Program.Out, r)
	}
	var b strings.Builder
	writeBench(&b, r)
	_, err := fmt.Fprint(c.Program.Out, b.String())
	return err
}

// writeBench writes the result as a table of 80 columns.
func writeBench(b *strings.Builder, r *load.Result) {
	head := fmt.Sprintf("%s: %s nodes", r.Kind, output.Count(r.Nodes))
	if r.Masters > 0 {
		head += fmt.Sprintf(", %s AMs", output.Count(r.Masters))
	}
	head += fmt.Sprintf(", %.1f s measured", r.Seconds)
	if r.Stopped {
		head += ", stopped"
	}
	fmt.Fprintf(b, "%s\n\n%-22s%12s%12s%10s%10s%10s\n", head, "", "COUNT", "PER SECOND", "P50 MS", "P99 MS", "MAX MS")
	calls := func(name string, x load.Calls) {
		fmt.Fprintf(b, "%-22s%12s%12s%s\n", name, output.Count(x.Count), output.Count(int64(x.PerSecond+0.5)),
			millis3(x.Times))
	}
	times := func(name string, t load.Times) {
		fmt.Fprintf(b, "%-22s%12s%12s%s\n", name, output.Count(t.Count), "", millis3(t))
	}
	calls("heartbeats", r.Heartbeats)
	if r.Allocates != nil {
		calls("allocates", *r.Allocates)
	}
	if l := r.Containers; l != nil {
		calls("containers", load.Calls{Times: load.Times{Count: l.Done, P50: l.Life.P50, P99: l.Life.P99, Max: l.Life.Max},
			PerSecond: l.PerSecond})
		times("  ask to granted", l.Grant)
		times("  completed to AM", l.Told)
	}
	writeBenchUse(b, r)
	errs := r.Heartbeats.Errors
	if r.Allocates != nil {
		errs += r.Allocates.Errors
	}
	fmt.Fprintf(b, "\nerrors %d, late heartbeats %d, failovers %d, resyncs %d, AMs registered again %d\n", errs,
		r.Heartbeats.Late, r.Failovers, r.Resyncs, r.Reregistered)
	if r.LastError != "" && errs+r.Failovers+r.Resyncs > 0 {
		fmt.Fprintln(b, verb.Fold("last error: "+strings.ReplaceAll(output.Cut(r.LastError, 300), "\n", " "), verb.HelpWidth))
	}
	if r.Containers != nil {
		verdict := "exactly once: no container granted or reported twice, none lost, no node overcommitted"
		if r.Stopped {
			verdict = "exactly once so far: the run ended before the last containers completed"
		}
		if r.Faults.Total() > 0 {
			verdict = "NOT exactly once: containers " + r.Faults.String()
		}
		fmt.Fprintln(b, verb.Fold(verdict, verb.HelpWidth))
	}
}

func millis3(t load.Times) string {
	if t.Count == 0 {
		return fmt.Sprintf("%10s%10s%10s", "-", "-", "-")
	}
	return fmt.Sprintf("%10.2f%10.2f%10.2f", t.P50, t.P99, t.Max)
}

// writeBenchUse writes how much processor time and memory the processes used.
func writeBenchUse(b *strings.Builder, r *load.Result) {
	fmt.Fprintf(b, "\n%-22s%12s%12s%10s%10s\n", "PROCESS", "CPU S", "CORES", "RSS", "BEFORE")
	row := func(name string, p load.Process) {
		fmt.Fprintf(b, "%-22s%12.2f%12.2f%10s%10s\n", output.Cut(name, 21), p.CPUSeconds, p.CPUSeconds/max(r.Seconds, 1e-9),
			bytesize.Format(p.RSSAfter), bytesize.Format(p.RSSBefore))
	}
	for _, p := range r.Processes {
		row(fmt.Sprintf("%s %d", p.Name, p.PID), p)
	}
	row("this load generator", r.Generator)
	var facts []string
	if r.CPUPerHeartbeat > 0 {
		facts = append(facts, fmt.Sprintf("CPU per heartbeat %.1f µs", r.CPUPerHeartbeat))
	}
	if r.CPUPerContainer > 0 {
		facts = append(facts, fmt.Sprintf("CPU per container %.1f µs", r.CPUPerContainer))
	}
	if r.BytesPer1000Nodes > 0 && r.Kind == load.Heartbeats {
		facts = append(facts, "memory per 1,000 nodes "+bytesize.Format(r.BytesPer1000Nodes))
	}
	if len(facts) > 0 {
		fmt.Fprintf(b, "%s (all processes except the load generator)\n", strings.Join(facts, ", "))
	}
}
