//as: fsm/state/state.go

package state

import (
	_ "fmt"

	_ "github.com/hashicorp/go-hclog" // want not among the modules
	_ "rmd/fsm"                       // want must not import rmd/fsm
	_ "rmd/fsm/event"
	_ "rmd/internal/codec"
	_ "rmd/internal/codec/codectest" // want only tests may
	_ "rmd/scheduler"                // want compute the same on every replica
	_ "rmd/scheduler/input"          // want must not import
)
