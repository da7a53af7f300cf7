package harness

import (
	"os"
	"os/exec"
	"testing"
)

// opens are packages of the JDK that Hadoop uses by reflection and that JDK 17 hides.
var opens = []string{"java.lang", "java.util", "java.io", "java.net"}

// opened returns the flags that open these packages.
func opened() (flags []string) {
	for _, p := range opens {
		flags = append(flags, "--add-opens=java.base/"+p+"=ALL-UNNAMED")
	}
	return flags
}

// jvm returns the flags of a JVM. log is its log file, or "" for standard error.
func (c *Cluster) jvm(conf, heap, log string, quick bool) []string {
	f := []string{"-Xmx" + heap, "-Djava.net.preferIPv4Stack=true", "-Duser.home=" + c.path("home"),
		"-Djava.io.tmpdir=" + c.path("tmp"),
		"-Dhadoop.log.dir=" + c.path("log"), "-XX:+UseSerialGC", "-Xshare:auto"}
	if quick { // for processes that are too short-lived for the optimizing compiler
		f = append(f, "-XX:TieredStopAtLevel=1")
	}
	f = append(append(f, opened()...), c.hosts()...)
	if log != "" {
		f = append(f, "-Dlog4j.configuration=file:"+c.path("conf", "log4j.properties"), "-Dinterop.log="+log)
	}
	return f
}

// classpath returns the class path of a process with a configuration folder.
func (in Install) classpath(conf string) string {
	return conf + ":" + in.Classes + ":" + in.Jars + "/*"
}

// environment returns the environment of all processes. Containers see only the variables in
// yarn.nodemanager.env-whitelist.
func (c *Cluster) environment() []string {
	return append([]string{"JAVA_HOME=" + c.Home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TZ=UTC",
		"HOME=" + c.path("home")}, c.Environment...)
}

// daemon returns a Java process that runs until it is stopped. Each start uses what in is then.
func (c *Cluster) daemon(in *Install, t testing.TB, name, conf, heap string, quick bool, main string,
	args ...string) Process {
	log := c.path("log", name+".log")
	return Process{Name: name, Log: log, out: c.path("log", name+".out"), t: t, start: func() *exec.Cmd {
		cmd := exec.Command(in.Java, append(append(c.jvm(conf, heap, log, quick), "-cp", in.classpath(c.conf(conf)), main),
			args...)...)
		cmd.Dir, cmd.Env = c.Dir, c.environment()
		return cmd
	}}
}
