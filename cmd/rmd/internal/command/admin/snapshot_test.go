package admin

import (
	"slices"
	"testing"

	"rmd/cmd/internal/output"
	"rmd/snapshot"
)

func TestSectionFacts(t *testing.T) {
	got := sectionFacts([]snapshot.SectionInfo{{Name: "meta", Records: 1, Bytes: 105}, {Name: "gangs", Bytes: 11},
		{Name: "applications", Records: 1234, Bytes: 2048}, {Name: "labels", Bytes: 11}})
	want := []output.Fact{{Name: "  meta", Value: "1 record, 105 B"}, {Name: "  applications", Value: "1,234 records, 2 KiB"},
		{Name: "  others", Value: "2 sections without records"}}
	if !slices.Equal(got, want) {
		t.Errorf("sectionFacts returns %q, want %q", got, want)
	}
	if got := sectionFacts([]snapshot.SectionInfo{{Name: "meta", Records: 1, Bytes: 105}}); len(got) != 1 {
		t.Errorf("sectionFacts without empty sections returns %q, want one fact", got)
	}
}
