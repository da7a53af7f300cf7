package work

import (
	"math"
	"strconv"
	"strings"

	"rmd/api"
	"rmd/cmd/internal/clierr"
)

// resourceNames are short names of the kinds that every cluster has.
var resourceNames = map[string]string{"memory": api.MemoryMB, "mem": api.MemoryMB, "vcore": api.VCores,
	"vc": api.VCores, "cpu": api.VCores, "gpu": api.GPU, "gpus": api.GPU}

// memoryUnits are the units of memory, in MiB.
var memoryUnits = map[string]float64{"MiB": 1, "GiB": 1 << 10, "TiB": 1 << 20}

// parseResource parses "memory-mb=4096,vcores=2,yarn.io/gpu=1", and amounts as tables show them, such as
// "4 GiB · 2 vc · 1 gpu".
func parseResource(text string) (api.Resource, error) {
	out := api.Resource{}
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '·' }) {
		name, n, ok := parseAmount(strings.TrimSpace(part))
		if !ok {
			return nil, clierr.Usagef("write memory-mb=4096,vcores=2,yarn.io/gpu=1 or 4GiB,2vc,1gpu",
				"%q is not a resource amount", part)
		}
		if _, twice := out[name]; twice {
			return nil, clierr.Usagef("write each resource once", "%q appears twice", name)
		}
		out[name] = n
	}
	if len(out) == 0 {
		return nil, clierr.Usagef("write for example 4GiB,2vc", "there is no amount")
	}
	return out, nil
}

// parseAmount parses an amount of one kind: "vcores=2", "2 vc", "memory=4GiB" or "4 GiB".
func parseAmount(text string) (name string, n int64, ok bool) {
	name, value, named := strings.Cut(text, "=")
	if !named {
		value = text
	}
	digits := strings.TrimRight(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
	unit := value[len(digits):]
	digits = strings.TrimSpace(digits)
	if size := memoryUnits[unit]; size > 0 {
		if !named {
			name = api.MemoryMB
		}
		v, err := strconv.ParseFloat(digits, 64)
		name = fullName(name)
		v *= size
		whole := unit != "MiB" || v == math.Trunc(v) // what tables show of GiB is rounded down to MiB
		return name, int64(v), err == nil && name == api.MemoryMB && v >= 0 && v < 1<<53 && whole
	}
	if !named {
		name = resourceNames[unit]
	} else if unit != "" {
		return "", 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return fullName(name), n, err == nil && n >= 0 && name != ""
}

func fullName(name string) string {
	if full := resourceNames[name]; full != "" {
		return full
	}
	return name
}
