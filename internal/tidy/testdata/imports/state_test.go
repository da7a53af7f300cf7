//as: fsm/state/state_test.go

package state

import (
	_ "rmd/internal/codec/codectest"
	_ "rmd/scheduler"
)
