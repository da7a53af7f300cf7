package twin

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestTallyCountsHistoriesAndSteps checks that a name counts once per history and once per step.
func TestTallyCountsHistoriesAndSteps(t *testing.T) {
	c := tally{}
	c.add([]Observation{{"intended a", "intended a", "app 1"}, nil, {"intended a", "intended b c"}})
	c.add([]Observation{{"intended a"}})
	var out strings.Builder
	c.write(&out)
	got := strings.Join(strings.Fields(out.String()), " ")
	if want := "intended difference histories steps a 2 3 b c 1 1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestImitationsAreDocumented checks that every name of an imitation in the Java side is in the
// table of imitations, and that each of those is among the differences from YARN.
func TestImitationsAreDocumented(t *testing.T) {
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	differences := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\| ([^|]+) \|`).FindAllStringSubmatch(read("../docs/design/differences-from-yarn.md"), -1) {
		differences[m[1]] = true
	}
	_, table, _ := strings.Cut(read("../docs/development/twin.md"), "| name | how it is imitated |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	imitated := map[string]bool{}
	for _, line := range strings.Split(table, "\n") {
		for _, name := range strings.Split(strings.TrimSpace(strings.Split(line, "|")[1]), ", ") {
			imitated[name] = true
			if !differences[name] && name != "largest container" { // that is the test's clock, not a decision
				t.Errorf("%s is not among the differences from YARN", name)
			}
		}
	}
	said := regexp.MustCompile(`(?:intended|intended\.accept|cancel)\((?:empty \? "([^"]+)" : )?"([^"]+)"`)
	for _, path := range []string{"rmd/interop/Twin.java", "rmd/interop/TwinPass.java", "rmd/interop/TwinPlaces.java", "rmd/interop/TwinParked.java",
		"org/apache/hadoop/yarn/server/resourcemanager/scheduler/capacity/allocator/TwinAllocator.java"} {
		for _, m := range said.FindAllStringSubmatch(read("../interop/java/"+path), -1) {
			for _, name := range m[1:] {
				if name != "" && !imitated[name] {
					t.Errorf("%s imitates %s, which the table does not tell of", path, name)
				}
			}
		}
	}
}
