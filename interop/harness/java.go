package harness

import (
	"os"
	"os/exec"
	"testing"
)

// opens are packages of the JDK that Hadoop looks into and a JDK 17 hides.
var opens = []string{"java.lang", "java.util", "java.io", "java.net"}

// opened are the flags that open these packages.
func opened() (flags []string) {
	for _, p := range opens {
		flags = append(flags, "--add-opens=java.base/"+p+"=ALL-UNNAMED")
	}
	return flags
}

// flags of every JVM; log is where it logs, "" for standard error.
func (c *Cluster) jvm(conf, heap, log string, quick bool) []string {
	f := []string{"-Xmx" + heap, "-Djava.net.preferIPv4Stack=true", "-Duser.home=" + c.path("home"), "-Djava.io.tmpdir=" + c.path("tmp"),
		"-Dhadoop.log.dir=" + c.path("log"), "-XX:+UseSerialGC", "-Xshare:auto"}
	if quick { // for those that do not live long enough for the better compiler
		f = append(f, "-XX:TieredStopAtLevel=1")
	}
	f = append(f, opened()...)
	if log != "" {
		f = append(f, "-Dlog4j.configuration=file:"+c.path("conf", "log4j.properties"), "-Dinterop.log="+log)
	}
	return f
}

// classpath of what is Hadoop's.
func (c *Cluster) classpath(conf string) string {
	return c.conf(conf) + ":" + c.Classes + ":" + c.Jars + "/*"
}

// environment of everything that is started; containers see of it what
// yarn.nodemanager.env-whitelist names.
func (c *Cluster) environment() []string {
	return []string{"JAVA_HOME=" + c.Home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TZ=UTC", "HOME=" + c.path("home")}
}

// daemon is a Java process that stays.
func (c *Cluster) daemon(t testing.TB, name, conf, heap string, quick bool, main string, args ...string) Process {
	log := c.path("log", name+".log")
	return Process{Name: name, Log: log, out: c.path("log", name+".out"), t: t, start: func() *exec.Cmd {
		cmd := exec.Command(c.Java, append(append(c.jvm(conf, heap, log, quick), "-cp", c.classpath(conf), main), args...)...)
		cmd.Dir, cmd.Env = c.Dir, c.environment()
		return cmd
	}}
}
