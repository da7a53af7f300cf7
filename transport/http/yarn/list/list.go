// Package list reads lists as clients of Hadoop's REST API write them.
package list

import (
	"bytes"
	"encoding/json"
)

// Of is a list. In JSON a list of one may also be written as the member alone.
type Of[T any] []T

// UnmarshalJSON reads a list or a single member.
func (m *Of[T]) UnmarshalJSON(b []byte) error {
	if b = bytes.TrimSpace(b); len(b) > 0 && b[0] == '[' {
		return json.Unmarshal(b, (*[]T)(m))
	}
	var one T
	if err := json.Unmarshal(b, &one); err != nil {
		return err
	}
	*m = Of[T]{one}
	return nil
}
