package verb

import (
	"time"

	"rmd/cmd/internal/clierr"
	"rmd/config"
)

// sinceForms are the formats of a time. A time without a date means today, or yesterday if it would
// be in the future.
var sinceForms = []struct {
	layout string
	today  bool
}{
	{time.RFC3339, false}, {"2006-01-02T15:04:05", false}, {"2006-01-02 15:04:05", false}, {"2006-01-02 15:04", false},
	{"2006-01-02", false},
	{"15:04:05", true}, {"15:04", true},
}

// Since returns the time of --since in Unix milliseconds, or 0 without the flag.
func (c *Call) Since() (millis int64, err error) {
	text := c.String("since")
	if text == "" {
		return 0, nil
	}
	return ParseSince("--since", text, time.Now())
}

// ParseSince parses the value of a flag: an age or a time.
func ParseSince(flag, text string, now time.Time) (int64, error) {
	if d, err := config.ParseDuration(text); err == nil && d > 0 {
		return now.Add(-d).UnixMilli(), nil
	}
	for _, f := range sinceForms {
		t, err := time.ParseInLocation(f.layout, text, now.Location())
		if err != nil {
			continue
		}
		if f.today {
			t = time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), 0, now.Location())
			if t.After(now) {
				t = t.AddDate(0, 0, -1)
			}
		}
		if t.After(now) {
			return 0, clierr.Usagef("write "+flag+" 10m, or a time in the past", "%s is in the future", text)
		}
		return t.UnixMilli(), nil
	}
	return 0, clierr.Usagef("write "+flag+" 10m, 15:04 or 2006-01-02T15:04:05Z",
		"%q is neither a duration nor a time", text)
}
