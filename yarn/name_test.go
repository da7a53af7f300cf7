package yarn

import (
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	for _, tc := range []struct{ name, asName, asUser string }{
		{"", "", ""},
		{"ann", "", ""},
		{"Jörg Müller", "", ""},
		{"DOMAIN\\ann", "", ""},
		{"rm/host.example.org@EXAMPLE.ORG", "", ""},
		{"a.b", "", ""},
		{"\uFFFD", "", ""},
		{"an\x00n", "U+0000 at byte 2", "U+0000 at byte 2"},
		{"an\nn", "U+000A", "U+000A"},
		{"an\x7fn", "U+007F", "U+007F"},
		{"an\u0085n", "U+0085", "U+0085"},
		{"\u202egnp.exe", "U+202E at byte 0", "U+202E at byte 0"},
		{"a\u2028b", "U+2028", "U+2028"},
		{"an\xffn", "not UTF-8 at byte 2", "not UTF-8 at byte 2"},
		{"../root", "", "is a path"},
		{"..", "", "is a path"},
		{".", "", "is a path"},
		{"/etc", "", "is a path"},
		{"a//b", "", "is a path"},
		{"a/../b", "", "is a path"},
		{"ann/", "", "is a path"},
		{" ann", "", "blank"},
		{"ann ", "", "blank"},
	} {
		for what, c := range map[string]struct {
			want string
			err  error
		}{"name": {tc.asName, CheckName(tc.name)}, "user": {tc.asUser, CheckUser(tc.name)}} {
			if (c.err == nil) != (c.want == "") || c.err != nil && !strings.Contains(c.err.Error(), c.want) {
				t.Errorf("%q as %s: %v, want %q", tc.name, what, c.err, c.want)
			}
		}
	}
}

func TestCleanText(t *testing.T) {
	for in, want := range map[string]string{"two\nlines\tö": "two\nlines\tö", "a\x00b\x1b[31m": "a b [31m",
		"a\xffb": "a\uFFFDb", "a\u202eb": "a b"} {
		if got := CleanText(in); got != want {
			t.Errorf("CleanText(%q) = %q, want %q", in, got, want)
		}
	}
}
