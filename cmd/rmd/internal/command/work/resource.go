package work

import (
	"strconv"
	"strings"

	"rmd/api"
	"rmd/cmd/internal/clierr"
)

// resourceNames are short names of the kinds that every cluster has.
var resourceNames = map[string]string{"memory": api.MemoryMB, "mem": api.MemoryMB, "vcore": api.VCores,
	"cpu": api.VCores, "gpu": api.GPU, "gpus": api.GPU}

// parseResource parses "memory-mb=4096,vcores=2,yarn.io/gpu=1".
func parseResource(text string) (api.Resource, error) {
	out := api.Resource{}
	for _, part := range strings.Split(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		n, err := strconv.ParseInt(value, 10, 64)
		if !ok || err != nil || n < 0 || name == "" {
			return nil, clierr.Usagef("write memory-mb=4096,vcores=2,yarn.io/gpu=1", "%q is not a resource amount", part)
		}
		if full := resourceNames[name]; full != "" {
			name = full
		}
		if _, twice := out[name]; twice {
			return nil, clierr.Usagef("write each resource once", "%q appears twice", name)
		}
		out[name] = n
	}
	return out, nil
}
