package output

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"rmd/internal/thousands"
)

// Count formats a number with separators between thousands.
func Count[N int | int32 | int64 | uint32 | uint64](n N) string { return thousands.Format(n) }

// Number formats a number without separators.
func Number[N int | int32 | int64 | uint16 | uint32 | uint64](n N) string { return fmt.Sprint(n) }

// Span formats a duration with at most two units: 350ms, 12s, 4m02s, 3h12m, 3d04h.
func Span(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Span(-d)
	case d < time.Millisecond && d > 0:
		return "<1ms"
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%02dh", int(d.Hours())/24, int(d.Hours())%24)
}

// Millis formats a number of milliseconds as Span does.
func Millis(ms int64) string { return Span(time.Duration(ms) * time.Millisecond) }

// Time formats a Unix time in milliseconds, in the local time zone. It returns "" for 0.
func Time(ms int64) string {
	if ms <= 0 {
		return ""
	}
	return time.UnixMilli(ms).Local().Format("2006-01-02 15:04:05")
}

// Percent formats a percentage without unnecessary decimals.
func Percent(p float64) string {
	if p > 0 && p < 10 {
		return strings.TrimSuffix(strconv.FormatFloat(p, 'f', 1, 64), ".0") + "%"
	}
	return strconv.FormatFloat(p, 'f', 0, 64) + "%"
}

// Digest returns the two ends of a digest: 9f1c…e2.
func Digest(s string) string {
	if len(s) <= 10 {
		return s
	}
	return s[:4] + "…" + s[len(s)-2:]
}

// YesNo returns "yes" or "no".
func YesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
