package tidy

import (
	"os/exec"
	"strings"
	"testing"
)

// TestServerLinksNoTestCode checks that the server program contains no code of the programs that
// test it.
func TestServerLinksNoTestCode(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", modulePath+"/cmd/rmd").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		for _, dir := range []string{"jepsen-lite", "interop", "twin", "bench"} {
			if name := strings.TrimSpace(line); below(name, modulePath+"/"+dir) {
				t.Errorf("cmd/rmd depends on %s: move what it needs out of %s", name, dir)
			}
		}
	}
}
