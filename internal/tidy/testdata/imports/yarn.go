//as: yarn/id.go

package yarn

import (
	_ "net/url"            // want depend on nothing
	_ "rmd/internal/codec" // want depend on nothing
	_ "strings"
	_ "time" // want depend on nothing
)
