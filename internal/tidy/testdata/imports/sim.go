//as: jepsen-lite/sim/sim.go

package sim

import (
	_ "rmd/fsm/state"
	_ "rmd/leader"
)
