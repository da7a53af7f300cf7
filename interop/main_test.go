//go:build interop

package interop

import (
	"os"
	"testing"

	"rmd/interop/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Run(m)) }
