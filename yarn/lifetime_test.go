package yarn

import (
	"fmt"
	"testing"
)

// badLifetimes are tags that declare no valid lifetime.
var badLifetimes = []string{
	"seconds=0", "seconds=-1", "seconds=3153600000", "seconds=31536001", "seconds=99999999999999999999", "seconds=soon",
	"seconds=", "seconds=1.5", "seconds=9 ", "seconds=90s", "90", "", "minutes=3",
}

func TestDeclaredLifetime(t *testing.T) {
	for _, c := range []struct {
		tags []string
		want int64
	}{
		{nil, 0}, {[]string{"etl", "lifetime:seconds=9"}, 0}, {[]string{"etl", LifetimeTag + "seconds=1"}, 1000},
		{[]string{LifetimeTag + "seconds=31536000", "x"}, MaxLifetimeSeconds * 1000},
	} {
		if got, err := DeclaredLifetime(c.tags); err != nil || got != c.want {
			t.Errorf("%q declare %d, %v; want %d", c.tags, got, err, c.want)
		}
	}
	for _, text := range badLifetimes {
		if got, err := DeclaredLifetime([]string{"etl", LifetimeTag + text}); err == nil || got != 0 {
			t.Errorf("%q declares %d, %v", LifetimeTag+text, got, err)
		}
	}
	two := []string{fmt.Sprint(LifetimeTag, "seconds=5"), fmt.Sprint(LifetimeTag, "seconds=5")}
	if _, err := DeclaredLifetime(two); err == nil {
		t.Error("two lifetimes are taken")
	}
}
