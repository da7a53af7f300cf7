package config

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestHostileFiles checks that files which are expensive to parse are refused before they are
// parsed, and that files within the limits are cheap.
func TestHostileFiles(t *testing.T) {
	deep := func() string {
		var b strings.Builder
		for i := range 200 {
			b.WriteString(strings.Repeat(" ", i) + "a:\n")
		}
		return b.String()
	}()
	for name, c := range map[string]struct {
		text string
		want string // part of the fault; empty: the file is parsed
	}{
		"200 KB of brackets":      {strings.Repeat("[", 200<<10), "may have only 65536"},
		"brackets":                {strings.Repeat("[", 60<<10), "more than 100 of"},
		"brackets line by line":   {strings.Repeat("- [\n", 10<<10), "more than 100 of"},
		"braces":                  {strings.Repeat("{a: ", 10<<10), "more than 100 of"},
		"lists in lists":          {strings.Repeat("- ", 1<<10), "too deep"},
		"sections in sections":    {deep, "too deep"},
		"keys":                    {strings.Repeat("a: 1\n", 10<<10), "lines without comments"},
		"documents":               {strings.Repeat("---\n", 10<<10), "lines without comments"},
		"anchors":                 {strings.Repeat("&a ", 20<<10), "more than 100 of"},
		"questions":               {strings.Repeat("? ", 30<<10), "more than 100 of"},
		"tags":                    {strings.Repeat("!a ", 20<<10), "more than 100 of"},
		"keys on one line":        {strings.Repeat("a: ", 20<<10), "a line has"},
		"quotes":                  {strings.Repeat("'", 60<<10), "a line has"},
		"as much as there may be": {strings.Repeat("a: 1\n", linesMax-1) + strings.Repeat("[", marksMax), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begin := time.Now()
			got := strings.Join(faults(t, c.text), "\n")
			runtime.ReadMemStats(&after)
			t.Logf("%d MB, %v", (after.TotalAlloc-before.TotalAlloc)>>20, time.Since(begin))
			if c.want != "" && !strings.Contains(got, c.want) {
				t.Errorf("faults of the file: %.300q, want %q in them", got, c.want)
			}
			if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 200 {
				t.Errorf("%d MB were needed", took)
			}
		})
	}
}

// TestEndlessFile checks that a device without an end is refused and not read to the end.
func TestEndlessFile(t *testing.T) {
	_, err := Load(Source{File: "/dev/zero"})
	var bad *Invalid
	if !errors.As(err, &bad) || !strings.Contains(strings.Join(bad.Lines(), "\n"), "may have only 65536") {
		t.Errorf("it is read: %v", err)
	}
}
