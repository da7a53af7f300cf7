package client

import "time"

// isoLayout is YARN's yyyy-MM-dd'T'HH:mm:ss.SSSZ.
const isoLayout = "2006-01-02T15:04:05.000-0700"

// formatISO writes a time as YARN tells expiries. YARN uses its machine's zone;
// here it is UTC, the same on every replica.
func formatISO(millis int64) string { return time.UnixMilli(millis).UTC().Format(isoLayout) }

// parseISO reads such a time, in any zone.
func parseISO(text string) (int64, error) {
	t, err := time.Parse(isoLayout, text)
	if err != nil {
		return 0, err
	}
	return t.UnixMilli(), nil
}
