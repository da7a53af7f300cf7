package access

import (
	"context"
	"testing"

	"rmd/transport/caller"
	"rmd/transport/hadoop/ipc"
)

// TestAuditNames checks how the audit names a caller.
func TestAuditNames(t *testing.T) {
	for want, c := range map[string]ipc.Caller{
		"ann":               {User: "ann"},
		"ann via oozie":     {User: "ann", RealUser: "oozie"},
		"ann (ann@EXAMPLE)": {User: "ann", Principal: "ann@EXAMPLE", Kind: ipc.KindKerberos},
		"ann via oozie/host.one@EXAMPLE": {User: "ann", RealUser: "oozie", Principal: "oozie/host.one@EXAMPLE",
			Kind: ipc.KindKerberos},
	} {
		if got := caller.Of(InNameOf(context.Background(), &c)).Who; got != want {
			t.Errorf("the audit has %q, want %q", got, want)
		}
	}
}
