package command

import (
	"time"

	"rmd/cmd/internal/clierr"
	"rmd/config"
)

// sinceForms are the ways to write a time; those without a date mean today, or
// yesterday when that has not come yet.
var sinceForms = []struct {
	layout string
	today  bool
}{
	{time.RFC3339, false}, {"2006-01-02T15:04:05", false}, {"2006-01-02 15:04:05", false}, {"2006-01-02 15:04", false}, {"2006-01-02", false},
	{"15:04:05", true}, {"15:04", true},
}

// since reads --since: the time from which on things are wanted, 0 without.
func (c *call) since() (millis int64, err error) {
	text := c.String("since")
	if text == "" {
		return 0, nil
	}
	return parseSince("--since", text, time.Now())
}

// parseSince reads an age or a time that a flag has.
func parseSince(flag, text string, now time.Time) (int64, error) {
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
	return 0, clierr.Usagef("write "+flag+" 10m, 15:04 or 2006-01-02T15:04:05Z", "%q is neither a duration nor a time", text)
}
