package route

import (
	"bytes"
	"fmt"

	"rmd/transport/http/problem"
)

// depthMax is the largest depth of nested objects and lists in a JSON body. The deepest document of
// the API has six levels.
const depthMax = 32

// A body of a list may have one element for each bytesPerElement bytes, and elementsFree more: "{}"
// has two bytes, and becomes an object of up to some hundred.
const (
	bytesPerElement = 8
	elementsFree    = 10_000
)

// CheckDepth refuses a body that is nested too deeply, or that has many elements for its size,
// before it is decoded. Brackets and commas in texts do not count.
func CheckDepth(b []byte) error {
	depth, inText, elements := 0, false, elementsFree+len(b)/bytesPerElement
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			if depth++; depth > depthMax {
				return problem.Invalid(fmt.Sprintf("the document is deeper than %d objects and lists within each other", depthMax),
					"send a flat one")
			}
		case c == '}' || c == ']':
			depth--
		case c == ',':
			if elements--; elements < 0 {
				return problem.Invalid(fmt.Sprintf("the document has more than an element for each %d bytes", bytesPerElement),
					"send several smaller documents")
			}
		}
	}
	return nil
}

// CheckTags refuses an XML body that has many tags for its size, before it is decoded. Package xml
// limits the depth.
func CheckTags(b []byte) error {
	if bytes.Count(b, []byte{'<'}) > elementsFree+len(b)/bytesPerElement {
		return problem.Invalid(fmt.Sprintf("the document has more than a tag for each %d bytes", bytesPerElement),
			"send several smaller documents")
	}
	return nil
}
