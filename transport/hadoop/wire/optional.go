package wire

// Optional is a text that is left out when it is empty.
func Optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
