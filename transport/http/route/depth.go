package route

import (
	"fmt"

	"rmd/transport/http/problem"
)

// depthMax bounds how deep the objects and lists of a JSON body may lie in each
// other. The deepest document that is taken has six.
const depthMax = 32

// CheckDepth refuses a body that is deeper, before anything is made of it.
// Brackets within texts do not count.
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
