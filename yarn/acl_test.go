package yarn

import "testing"

func TestACL(t *testing.T) {
	for _, tc := range []struct{ text, shown, user, group string }{
		{"*", "*", "anyone", ""},
		{" * ", "*", "anyone", ""},
		{"alice *", "*", "anyone", ""},
		{"* admins", "*", "anyone", ""},
		{"bob,ann dev,ops", "ann,bob dev,ops", "bob", "ops"},
		{" dev", " dev", "", "dev"},
		{"bob", "bob ", "bob", ""},
		{"bob, ann", "bob ann", "bob", "ann"}, // groups follow the blank
		{"bob,\nann\n dev", "ann,bob dev", "ann", "dev"},
		{"bob\tdev", "bob\tdev ", "bob\tdev", ""}, // a tab does not separate
		{"**", "** ", "**", ""},
		{"an*", "an* ", "an*", ""},
		{"*,ann", "*,ann ", "ann", ""},
		{"ann w*", "ann w*", "ann", "w*"},
		{" ", " ", "", ""},
		{"", " ", "", ""},
	} {
		a := ParseACL(tc.text)
		if a.String() != tc.shown {
			t.Errorf("%q is shown as %q", tc.text, a)
		}
		if tc.user != "" && !a.Allows(tc.user) || tc.group != "" && !a.Allows("nobody", "x", tc.group) {
			t.Errorf("%q refuses whom it names", tc.text)
		}
		if !a.All && (a.Allows("nobody", "none") || a.Allows("", "") || a.Allows("dev") || a.Allows("x", "bob") ||
			a.Allows("wheel", "an", "w")) {
			t.Errorf("%q admits whom it does not name", tc.text)
		}
	}
}
