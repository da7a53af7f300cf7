package harness

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Sum is a Flink job in streaming mode that adds the numbers from 1 to Count, rmd.flink.Sum.
type Sum struct {
	Count, PerSecond int
	Parallelism      int      // each task slot is in its own TaskManager
	More             []string // settings such as "security.kerberos.login.principal: ann"
}

// RunningSum is a running Sum.
type RunningSum struct {
	*Running
	c      *Cluster
	folder string
}

// StartSum submits the job in application mode: its main method runs in the ApplicationMaster. The
// client ends when the ApplicationMaster runs.
func (c *Cluster) StartSum(j Sum, within time.Duration) *RunningSum {
	c.t.Helper()
	dir := c.frameworkFolder(flink)
	lib, out, conf := filepath.Join(dir, "lib"), c.folder("tmp", "sum"), c.folder("conf", "flink")
	// Flink's distribution has these options, because Flink needs these packages of the JDK. A client
	// logs in before it reads its command line, so More is not there.
	settings := append([]string{"env.java.opts.all: -XX:+UseSerialGC " + strings.Join(opened(), " ")}, j.More...)
	c.file(strings.Join(settings, "\n")+"\n", "conf", "flink", "config.yaml")
	line := append(c.jvm("client", "256m", "", true), "-cp", lib+"/*:"+c.classpath(c.conf("client")),
		"org.apache.flink.client.cli.CliFrontend")
	args := []string{"run", "-t", "yarn-application", "-c", "rmd.flink.Sum", "-p", strconv.Itoa(j.Parallelism)}
	for _, s := range []string{
		"yarn.flink-dist-jar=" + c.flinkJar(lib, "flink-yarn"),
		"yarn.staging-directory=" + c.staging(),
		"yarn.application.name=sum",
		"yarn.heartbeat.container-request-interval=200",
		"jobmanager.memory.process.size=1000m", "jobmanager.memory.jvm-metaspace.size=160m",
		"taskmanager.memory.process.size=900m", "taskmanager.memory.managed.size=32m",
		"taskmanager.memory.jvm-metaspace.size=160m",
		"taskmanager.numberOfTaskSlots=1",
		"execution.checkpointing.storage=filesystem", "execution.checkpointing.dir=" + c.staging("checkpoints"),
		"restart-strategy.type=fixed-delay", "restart-strategy.fixed-delay.attempts=5",
		"restart-strategy.fixed-delay.delay=1s",
		"heartbeat.timeout=10000", "heartbeat.interval=2000",
	} {
		args = append(args, "-D", s)
	}
	args = append(args, filepath.Join(dir, "classes", "jobs.jar"), out, strconv.Itoa(j.Count), strconv.Itoa(j.PerSecond))
	return &RunningSum{c.run(within, append(line, args...), args, "FLINK_CONF_DIR="+conf, "FLINK_LIB_DIR="+lib), c, out}
}

// flinkJar returns the jar of a Flink artifact.
func (c *Cluster) flinkJar(lib, name string) string {
	c.t.Helper()
	jars, err := filepath.Glob(filepath.Join(lib, name+"-*.jar"))
	if err != nil || len(jars) != 1 {
		c.t.Fatalf("%d jars of %s in %s", len(jars), name, lib)
	}
	return jars[0]
}

// Tasks returns the number of starts of the job's last tasks.
func (r *RunningSum) Tasks() int { return len(r.lines("tasks")) }

// Sums returns the largest sum of each key so far, and the number of written sums.
func (r *RunningSum) Sums() (largest map[string]int, written int) {
	r.c.t.Helper()
	largest = map[string]int{}
	lines := r.lines("sums")
	for _, line := range lines {
		key, sum, _ := strings.Cut(line, " ")
		n, err := strconv.Atoi(sum)
		if err != nil {
			r.c.t.Fatalf("sum %q: %v", line, err)
		}
		largest[key] = max(largest[key], n)
	}
	return largest, len(lines)
}

// lines returns the complete lines of a file of the job.
func (r *RunningSum) lines(name string) []string {
	b, err := os.ReadFile(filepath.Join(r.folder, name))
	if err != nil {
		return nil
	}
	all := strings.Split(string(b), "\n")
	return all[:len(all)-1]
}
