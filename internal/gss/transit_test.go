package gss

import "testing"

func TestCheckPath(t *testing.T) {
	for _, c := range []struct {
		client, service, through string
		ok                       bool
	}{
		{"A.EXAMPLE", "B.EXAMPLE", "EXAMPLE", true},
		{"A.EXAMPLE", "B.EXAMPLE", ",", true},
		{"A.EXAMPLE", "B.EXAMPLE", "EXAMPLE,", true},
		{"X.A.EXAMPLE", "Y.B.EXAMPLE", "EXAMPLE,A.,B.EXAMPLE", true},
		{"X.A.EXAMPLE", "Y.B.EXAMPLE", "EXAMPLE, A.EXAMPLE", true},
		{"X.A.EXAMPLE", "EXAMPLE", "A.EXAMPLE", true},
		{"EXAMPLE", "X.A.EXAMPLE", "A.EXAMPLE", true},
		{"A.EXAMPLE", "B.EXAMPLE", "EVIL", false},
		{"A.EXAMPLE", "B.EXAMPLE", "C.EXAMPLE", false},
		{"A.EXAMPLE", "B.EXAMPLE", "EXAMPLE,EVIL.", false},
		{"A.EXAMPLE", "B.EXAMPLE", `EXAM\,PLE`, false},
		{"A.EXAMPLE", "B.EXAMPLE", "/C=XX", false},
		{"EVIL", "EXAMPLE", "EXAMPLE", false},
		{"EVIL", "EXAMPLE", ",", false},
		{"A.EVIL", "B.EXAMPLE", "EVIL,EXAMPLE", false},
	} {
		if err := checkPath(c.client, c.service, c.through); (err == nil) != c.ok {
			t.Errorf("from %s to %s through %q: %v", c.client, c.service, c.through, err)
		}
	}
}
