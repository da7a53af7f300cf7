package record

import (
	"rmd/fsm/state/table"
	"rmd/internal/codec"
)

// CodeStrings encodes or decodes a list of strings.
func CodeStrings(c *codec.Coder, v *[]string) {
	codec.List(c, v, func(c *codec.Coder, s *string) { c.String(s) })
}

// CodeSlots encodes or decodes a list of slots.
func CodeSlots[S table.Slot](c *codec.Coder, v *[]S) {
	codec.List(c, v, func(c *codec.Coder, s *S) { codec.Slot(c, s) })
}
