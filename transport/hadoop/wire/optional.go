package wire

// Optional returns a pointer to a text, or nil if the text is empty.
func Optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
