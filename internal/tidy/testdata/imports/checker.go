//as: jepsen-lite/check/check.go

package check

import (
	_ "github.com/anishathalye/porcupine"
	_ "rmd/fsm/state" // want share the suspect's code
	_ "rmd/workload/trace"
)
