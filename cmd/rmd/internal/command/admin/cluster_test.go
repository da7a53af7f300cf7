package admin

import (
	"testing"

	"rmd/api"
)

func TestMemberDisk(t *testing.T) {
	for want, m := range map[string]api.Member{
		"-":     {State: "unreachable", DiskFull: true},
		"FULL":  {State: "alive", DiskFull: true},
		"1 GiB": {State: "alive", DiskFree: 1 << 30},
	} {
		if got := memberDisk(m); got != want {
			t.Errorf("memberDisk(%+v) = %q, want %q", m, got, want)
		}
	}
}
