package route

import (
	"fmt"

	"rmd/transport/http/problem"
)

// depthMax is the largest depth of nested objects and lists in a JSON body. The deepest document of
// the API has six levels.
const depthMax = 32

// CheckDepth refuses a body that is nested too deeply, before it is decoded. Brackets in texts do
// not count.
func CheckDepth(b []byte) error {
	depth, inText := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			if depth++; depth > depthMax {
				return problem.Invalid(fmt.Sprintf("the document is deeper than %d objects and lists within each other", depthMax), "send a flat one")
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}
