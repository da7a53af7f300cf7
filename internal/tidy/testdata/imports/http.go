//as: transport/http/node.go

package httpserver

import (
	_ "rmd/cluster" // want declare the small interface
	_ "rmd/fsm/state"
	_ "rmd/leader"    // want declare the small interface
	_ "rmd/scheduler" // want must not import
	_ "rmd/scheduler/capacity"
)
