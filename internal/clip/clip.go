// Package clip shortens texts for messages.
package clip

// Text returns a configured text, cut after 80 characters.
func Text(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
