package harness

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// sparkPort is the environment variable with the port of the NodeManager's shuffle service, for
// containers. Spark expects the same port on all nodes, but here all nodes are on one host.
const sparkPort = "INTEROP_SPARK_SHUFFLE_PORT"

// serveSpark gives the NodeManager and its containers the port of its shuffle service.
func (n *Node) serveSpark() {
	n.spark = n.c.port(n.Name + ".spark")
	start := n.start
	n.start = func() *exec.Cmd {
		cmd := start()
		cmd.Env = append(cmd.Env, sparkPort+"="+strconv.Itoa(n.spark))
		return cmd
	}
}

func (n *Node) sparkSite(s *settings) {
	const at = "yarn.nodemanager.aux-services"
	s.set(at, "mapreduce_shuffle,spark_shuffle")
	s.set(at+".spark_shuffle.class", "org.apache.spark.network.yarn.YarnShuffleService")
	s.set(at+".spark_shuffle.classpath", filepath.Join(n.c.frameworkFolder(spark), "lib", "*"))
	s.setInt("spark.shuffle.service.port", n.spark)
}

// Shuffle is a Spark job with a shuffle, rmd.spark.Shuffle. Its reducers read the output of the
// maps twice: immediately, and after Go.
type Shuffle struct {
	Queue         string // default
	Maps, Reduces int
	Map, Reduce   time.Duration // run times of the tasks; Reduce counts after Go
	Executors     int           // maximum number; each has 1 GB
	More          []string      // settings such as "spark.task.maxFailures=1"
}

// RunningShuffle is a running Shuffle.
type RunningShuffle struct {
	*Running
	c      *Cluster
	folder string
}

// StartShuffle submits the job in cluster mode. It requests executors as needed, and releases
// executors that were idle for a few seconds.
func (c *Cluster) StartShuffle(j Shuffle, within time.Duration) *RunningShuffle {
	c.t.Helper()
	if j.Queue == "" {
		j.Queue = "default"
	}
	dir := c.frameworkFolder(spark)
	c.began["shuffle"]++
	out := c.folder("tmp", "shuffle"+strconv.Itoa(c.began["shuffle"]))
	classes := filepath.Join(dir, "classes")
	line := append(c.jvm("client", "256m", "", true), "-cp",
		c.conf("client")+":"+classes+":"+filepath.Join(dir, "lib", "*"), "org.apache.spark.deploy.SparkSubmit")
	args := []string{"--master", "yarn", "--deploy-mode", "cluster", "--name", "shuffle", "--queue", j.Queue, "--class",
		"rmd.spark.Shuffle",
		"--driver-memory", "512m", "--executor-memory", "512m"}
	for _, s := range append([]string{
		"spark.yarn.jars=local:" + filepath.Join(dir, "lib", "*"),
		"spark.driver.extraClassPath=" + classes, "spark.executor.extraClassPath=" + classes,
		"spark.driver.extraJavaOptions=-XX:+UseSerialGC", "spark.executor.extraJavaOptions=-XX:+UseSerialGC",
		"spark.yarn.stagingDir=" + c.staging(),
		"spark.ui.enabled=false",
		"spark.shuffle.service.enabled=true",
		"spark.dynamicAllocation.enabled=true",
		"spark.dynamicAllocation.maxExecutors=" + strconv.Itoa(j.Executors),
		"spark.dynamicAllocation.executorIdleTimeout=3s",
		// All nodes are on one host, each with its own shuffle service.
		"spark.locality.wait=0s", "spark.shuffle.readHostLocalDisk=false",
	}, j.More...) {
		args = append(args, "--conf", s)
	}
	ms := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	args = append(args, "spark-internal", out, strconv.Itoa(j.Maps), strconv.Itoa(j.Reduces), ms(j.Map), ms(j.Reduce))
	return &RunningShuffle{c.run(within, append(line, args...), args), c, out}
}

// AwaitMapped waits until the output of the maps has been read for the first time.
func (r *RunningShuffle) AwaitMapped() {
	r.c.t.Helper()
	Await(r.c.t, "the first reading of the shuffle", 3*time.Minute, func() bool {
		select {
		case <-r.done:
			r.c.t.Fatal(r.result.Last())
		default:
		}
		_, err := os.Stat(filepath.Join(r.folder, "mapped"))
		return err == nil
	})
}

// Go lets the reducers read the output again.
func (r *RunningShuffle) Go() {
	r.c.t.Helper()
	if err := os.WriteFile(filepath.Join(r.folder, "go"), nil, 0o600); err != nil {
		r.c.t.Fatal(err)
	}
}

// Shuffled is the result that a Shuffle reports.
type Shuffled struct {
	Sum       int64
	Stages    int      // submitted stages
	Succeeded int      // succeeded tasks
	Failures  []string // failures of tasks
	Removed   []string // reasons for removed executors
}

// Result returns the result of a job that has ended.
func (r *RunningShuffle) Result() (s Shuffled) {
	r.c.t.Helper()
	b, err := os.ReadFile(filepath.Join(r.folder, "result"))
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		r.c.t.Fatal(err)
	}
	return s
}
