package tidy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"rmd/internal/release"
)

// version matches three numbers that are not part of an address.
var version = regexp.MustCompile(`(?:^|[^0-9.])(\d+\.\d+\.\d+)(?:[^0-9.]|\.\D|\.$|$)`)

// TestVersionsInGuides checks that guides show the version of this tree, and the guide for upgrades
// also the next one. With -rewrite it replaces those of the last release. A number is taken for a
// version of rmd if it begins as this version does.
func TestVersionsInGuides(t *testing.T) {
	root := filepath.Join("..", "..")
	major, _, _ := strings.Cut(release.Current(), ".")
	found := 0
	for _, name := range markdown(t, root) {
		rel, err := filepath.Rel(root, name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(rel, filepath.Join("docs", "operations")) && rel != "README.md" && rel != "SECURITY.md" {
			continue // records of the past
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		if all := release.All(); *rewrite && len(all) > 1 {
			now, last := all[0].Number, all[1].Number
			text = strings.NewReplacer(release.Next(last), release.Next(now), last, now).Replace(text)
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for i, l := range strings.Split(text, "\n") {
			for _, m := range version.FindAllStringSubmatch(l, -1) {
				v := m[1]
				if !strings.HasPrefix(v, major+".") {
					continue
				}
				found++
				if v != release.Current() && (v != release.Next(release.Current()) || filepath.Base(name) != "upgrade.md") {
					t.Errorf("%s:%d names version %s, want %s: go test ./internal/tidy -run TestVersionsInGuides -rewrite", rel, i+1,
						v, release.Current())
				}
			}
		}
	}
	if found < 30 {
		t.Errorf("only %d versions found in the guides", found)
	}
}
