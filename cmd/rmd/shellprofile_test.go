package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"rmd/internal/portblock"
)

// TestShellProfile runs contrib/hadoop/rmd.sh as Hadoop's scripts do: they read it, call the
// function of the subcommand, and start the daemon in the background with the path of its pid file.
// rmd must run as the process in that file and write the log that monitors read, with its id, its
// addresses and its data from the files of Hadoop and the environment alone.
func TestShellProfile(t *testing.T) {
	t.Parallel()
	dir, host := t.TempDir(), ownLoopback(t)
	script, err := filepath.Abs(filepath.Join("..", "..", "contrib", "hadoop", "rmd.sh"))
	if err != nil {
		t.Fatal(err)
	}
	const key = "<property><name>%s</name><value>%s</value></property>\n"
	for name, text := range map[string]string{
		"yarn-site.xml": fmt.Sprintf(key+key+key, "yarn.resourcemanager.cluster-id", "prod",
			"yarn.resourcemanager.ha.rm-ids", "rm1", "yarn.resourcemanager.hostname.rm1", host),
		"capacity-scheduler.xml": fmt.Sprintf(key+key, "yarn.scheduler.capacity.root.queues", "etl",
			"yarn.scheduler.capacity.root.etl.capacity", "100"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("<configuration>\n"+text+"</configuration>\n"),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	bash := func(text string) *exec.Cmd {
		cmd := exec.Command("bash", "-c",
			`hadoop_error() { echo "$*" >&2; }; yarncmd_case() { echo "java $*"; }; . "$PROFILE"; `+text)
		cmd.Env = append(os.Environ(), asProgram+"=1", "PROFILE="+script, "RMD="+os.Args[0], "RMD_CONFIG=",
			"RMD_DATA="+filepath.Join(dir, "data"), "HADOOP_CONF_DIR="+dir, "HADOOP_LOG_DIR="+dir,
			"HADOOP_LOGFILE=rm.log", "HADOOP_DAEMON_MODE=start", "PIDFILE="+filepath.Join(dir, "rm.pid"))
		return cmd
	}

	daemon := bash(`yarn_subcommand_resourcemanager; test "$HADOOP_SUBCMD_SUPPORTDAEMONIZATION" = true || exit 9
		hadoop_start_daemon resourcemanager rmd "$PIDFILE" & wait $!`)
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = daemon.Process.Kill(); _ = daemon.Wait() })
	c := &processes{t: t}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(readText(t, filepath.Join(dir, "rm.log")))
		}
	})
	c.await("pages on YARN's port", patience, func() bool {
		r, err := http.Get("http://" + host + ":8088/ws/v1/cluster/scheduler")
		if err != nil {
			return false
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		return err == nil && strings.Contains(string(text), `"etl"`)
	})
	pid, err := strconv.Atoi(strings.TrimSpace(readText(t, filepath.Join(dir, "rm.pid"))))
	if err != nil {
		t.Fatal(err)
	}
	// Hadoop's --daemon status looks for this -D, and its --daemon start refuses a second one by it.
	if args := readText(t, fmt.Sprintf("/proc/%d/cmdline", pid)); args != "rmd -Dproc_resourcemanager\x00server\x00" {
		t.Errorf("the process in the pid file is %q", args)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := daemon.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	contains(t, "log", readText(t, filepath.Join(dir, "rm.log")), "replica is up: id=rm1", "peers="+host+":8034")

	for _, option := range []struct {
		args, says string
		exit       int
	}{
		{"-format-state-store", "ERROR: rmd has no state store to format", 1},
		{"-remove-application-from-state-store application_1_1", "rmd app kill application_1_1", 1},
		{"-convert-fs-configuration -o out", "java resourcemanager -convert-fs-configuration -o out", 0},
	} {
		cmd := bash("yarn_subcommand_resourcemanager " + option.args)
		out, _ := cmd.CombinedOutput() // the exit code is compared
		if !strings.Contains(string(out), option.says) || cmd.ProcessState.ExitCode() != option.exit {
			t.Errorf("%s: exit %d, %s", option.args, cmd.ProcessState.ExitCode(), out)
		}
	}
}

// ownLoopback returns an address of this machine that no other test uses.
func ownLoopback(t *testing.T) string {
	t.Helper()
	port := portblock.Open(t).TakeAll(1)[0]
	return fmt.Sprintf("127.77.%d.%d", port>>8, max(port&255, 1))
}

func readText(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
