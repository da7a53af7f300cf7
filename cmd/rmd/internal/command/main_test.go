package command

import (
	"flag"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"rmd/internal/orphan"
)

// rewrite makes TestManPagesAreCurrent write the manual pages.
var rewrite = flag.Bool("rewrite", false, "write the manual pages again")

// TestMain lets scripts run this test binary as rmd in separate processes.
func TestMain(m *testing.M) {
	testscript.Main(stopping{m}, map[string]func(){"rmd": func() { orphan.ExitWithParent(); os.Exit(Main()) }})
}

// stopping stops the cluster of the scripts after all tests.
type stopping struct{ *testing.M }

func (s stopping) Run() int {
	defer stage0.stop()
	return s.M.Run()
}
