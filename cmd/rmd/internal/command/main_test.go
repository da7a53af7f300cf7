package command

import (
	"flag"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// rewrite makes the manual pages again.
var rewrite = flag.Bool("rewrite", false, "write the manual pages again")

// TestMain lets this test binary be rmd in the scripts, in processes of its own.
func TestMain(m *testing.M) {
	testscript.Main(stopping{m}, map[string]func(){"rmd": func() { os.Exit(Main()) }})
}

// stopping ends the cluster of the scripts when all tests have run.
type stopping struct{ *testing.M }

func (s stopping) Run() int {
	defer stage0.stop()
	return s.M.Run()
}
