package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// stillWithin limits the wait until all threads of a process are stopped.
const stillWithin = 2 * time.Second

// standStill waits until every thread of a process is stopped.
func standStill(pid int) error {
	for end := time.Now().Add(stillWithin); time.Now().Before(end); time.Sleep(200 * time.Microsecond) {
		files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		if err != nil || len(files) == 0 {
			return fmt.Errorf("process %d has ended", pid)
		}
		still := true
		for _, name := range files {
			b, err := os.ReadFile(name)
			_, rest, ok := strings.Cut(string(b), ") ")
			still = still && (err != nil || ok && (rest[0] == 'T' || rest[0] == 't' || rest[0] == 'Z' || rest[0] == 'X'))
		}
		if still {
			return nil
		}
	}
	return fmt.Errorf("process %d does not stand still within %s", pid, stillWithin)
}
