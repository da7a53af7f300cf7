package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"rmd/internal/nearest"
)

// value is a field of Config that is set from text and formatted as text.
type value interface {
	Set(text string) error
	String() string
}

type text struct{ at *string }

func (v text) Set(s string) error { *v.at = s; return nil }
func (v text) String() string     { return *v.at }

// path is a text that names a file or directory.
type path struct{ text }

// resolveIn makes a relative path relative to dir.
func (v path) resolveIn(dir string) {
	if p := *v.at; strings.TrimSpace(p) != "" && !filepath.IsAbs(p) {
		*v.at = filepath.Join(dir, p)
	}
}

type oneOf struct {
	at      *string
	choices []string
}

func (v oneOf) Set(s string) error {
	if slices.Contains(v.choices, s) {
		*v.at = s
		return nil
	}
	err := fmt.Errorf("%q is not one of %s", s, strings.Join(v.choices, ", "))
	if n := nearest.Name(s, v.choices); n != "" {
		err = fmt.Errorf("%w; did you mean %q?", err, n)
	}
	return err
}
func (v oneOf) String() string { return *v.at }

type truth struct{ at *bool }

func (v truth) Set(s string) error {
	switch s {
	case "true", "yes", "on":
		*v.at = true
	case "false", "no", "off":
		*v.at = false
	default:
		return fmt.Errorf("%q is neither true nor false", s)
	}
	return nil
}
func (v truth) String() string { return strconv.FormatBool(*v.at) }

type number struct{ at *uint }

func (v number) Set(s string) error {
	n, err := parseNumber(s)
	*v.at = uint(n)
	return err
}
func (v number) String() string { return fmt.Sprint(*v.at) }

type number64 struct{ at *uint64 }

func (v number64) Set(s string) error {
	n, err := parseNumber(s)
	*v.at = n
	return err
}
func (v number64) String() string { return fmt.Sprint(*v.at) }

// parseNumber accepts 8192 and 8_192.
func parseNumber(s string) (uint64, error) {
	n, err := strconv.ParseUint(strings.ReplaceAll(s, "_", ""), 10, 62)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number of 0 or more", s)
	}
	return n, nil
}

type duration struct{ at *time.Duration }

func (v duration) Set(s string) error {
	d, err := ParseDuration(s)
	if err == nil {
		*v.at = d
	}
	return err
}
func (v duration) String() string { return shortDuration(*v.at) }

// ParseDuration parses a duration such as "500ms", "4s" or "1h30m". A number without a unit is in
// seconds.
func ParseDuration(s string) (time.Duration, error) {
	if n, err := strconv.ParseFloat(s, 64); err == nil && n >= 0 && n < 1e9 {
		return time.Duration(n * float64(time.Second)), nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a duration such as 500ms, 4s or 1h30m", s)
	}
	return d, nil
}

// shortDuration formats 24h as "24h", not "24h0m0s".
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

type size struct{ at *Size }

var units = []struct {
	name string
	size uint64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6},
	{"kB", 1e3}, {"B", 1}}

func (v size) Set(s string) error {
	n, unit := strings.TrimSpace(s), uint64(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(n, u.name); ok {
			n, unit = strings.TrimSpace(rest), u.size
			break
		}
	}
	x, err := parseNumber(n)
	if err != nil || x > (1<<62)/unit {
		return fmt.Errorf("%q is not a size such as 256MiB", s)
	}
	*v.at = Size(x * unit)
	return nil
}

func (v size) String() string {
	for _, u := range units[:4] {
		if n := uint64(*v.at); n >= u.size && n%u.size == 0 {
			return fmt.Sprintf("%d%s", n/u.size, u.name)
		}
	}
	return fmt.Sprint(uint64(*v.at))
}

type list struct{ at *[]string }

// Set parses a comma-separated list. The parser of the file converts sequences to such lists.
func (v list) Set(s string) error {
	*v.at = nil
	for _, part := range strings.Split(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			*v.at = append(*v.at, part)
		}
	}
	return nil
}
func (v list) String() string { return strings.Join(*v.at, ",") }
