package httpserver

import "fmt"

// depthMax bounds how deep the objects and lists of a JSON body may lie in each
// other. The deepest document that is taken has six.
const depthMax = 32

// checkDepth refuses a body that is deeper, before anything is made of it.
// Brackets within texts do not count.
func checkDepth(b []byte) error {
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
				return invalid(fmt.Sprintf("the document is deeper than %d objects and lists within each other", depthMax), "send a flat one")
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}
