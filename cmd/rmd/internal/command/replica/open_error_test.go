package replica

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"rmd/cmd/internal/clierr"
	"rmd/internal/exitcode"
)

// TestFaultsAtStartHaveTheirCodes checks that what a person has to correct in the configuration has
// the exit code of an invalid configuration, and no other failure's.
func TestFaultsAtStartHaveTheirCodes(t *testing.T) {
	_, foreign := net.Listen("tcp", "192.0.2.7:0")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	denied := &net.OpError{Op: "listen", Net: "tcp", Err: os.NewSyscallError("bind", syscall.EACCES)}
	for _, c := range []struct {
		err  error
		code int
		do   string
	}{
		{foreign, exitcode.Usage, "an address of this machine"},
		{&net.OpError{Op: "listen", Err: &net.DNSError{Err: "no such host", Name: "rm1"}}, exitcode.Usage,
			"an address of this machine"},
		{denied, exitcode.NotAllowed, "CAP_NET_BIND_SERVICE"},
		{os.MkdirAll(filepath.Join(file, "data"), 0o700), exitcode.Usage, "name a directory"},
	} {
		err := openError(fmt.Errorf("http.listen: %w", c.err))
		if got := clierr.Code(err); got != c.code || !strings.Contains(err.Error(), c.do) {
			t.Errorf("%v: exit code %d, want %d and the advice %q; error %v", c.err, got, c.code, c.do, err)
		}
	}
}
