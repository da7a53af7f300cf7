package work

import (
	"maps"
	"testing"

	"rmd/api"
)

// TestParseResource checks that amounts can be written as tables show them, and that what is not exact
// or not clear is refused.
func TestParseResource(t *testing.T) {
	want := api.Resource{api.MemoryMB: 4096, api.VCores: 2, api.GPU: 1}
	for _, text := range []string{"memory-mb=4096,vcores=2,yarn.io/gpu=1", "4 GiB · 2 vc · 1 gpu", "4GiB,2vc,1gpu",
		"memory=4GiB, cpu=2, gpus=1", "memory-mb=4096MiB,vcore=2,gpu=1"} {
		if got, err := parseResource(text); err != nil || !maps.Equal(got, want) {
			t.Errorf("%q is %v (error %v), want %v", text, got, err, want)
		}
	}
	if got, err := parseResource("1.5 GiB · 1 vc"); err != nil || got[api.MemoryMB] != 1536 {
		t.Errorf("1.5 GiB is %v (error %v)", got, err)
	}
	shown := api.Resource{api.MemoryMB: 314_572, api.VCores: 1}
	if got, err := parseResource(shown.String()); err != nil || !maps.Equal(got, shown) {
		t.Errorf("%q is %v (error %v), want %v", shown, got, err, shown)
	}
	for _, text := range []string{"", " , ", "4", "4096,2", "GiB", "-1GiB", "0.3MiB", "vcores=2GiB", "vcores=2x", "=2", "1gpu,gpu=2",
		"9999999999999999TiB", "2 apples"} {
		if got, err := parseResource(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
