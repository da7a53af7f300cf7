package client

import "time"

// isoLayout is YARN's format yyyy-MM-dd'T'HH:mm:ss.SSSZ.
const isoLayout = "2006-01-02T15:04:05.000-0700"

// formatISO formats an expiry as YARN does. YARN uses its machine's time zone. This function uses
// UTC, so that every replica gives the same text.
func formatISO(millis int64) string { return time.UnixMilli(millis).UTC().Format(isoLayout) }

// parseISO parses such a time in any zone and returns Unix milliseconds.
func parseISO(text string) (int64, error) {
	t, err := time.Parse(isoLayout, text)
	if err != nil {
		return 0, err
	}
	return t.UnixMilli(), nil
}
