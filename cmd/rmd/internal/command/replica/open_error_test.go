package replica

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"

	"rmd/cmd/internal/clierr"
	"rmd/internal/exitcode"
	"rmd/transport/peer"
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

// TestPortInUseNamesItsKey checks that the advice for a port that is taken names the key to change.
func TestPortInUseNamesItsKey(t *testing.T) {
	for key, do := range map[string]string{"raft.listen": "with raft.listen", "http.listen": "with http.listen",
		"http.listen_tls":                    "with http.listen_tls",
		"yarn.resourcemanager.admin.address": "with yarn.resourcemanager.admin.address in yarn-site.xml"} {
		err := openError(fmt.Errorf("%s: %w", key, &net.OpError{Op: "listen", Net: "tcp",
			Err: os.NewSyscallError("bind", syscall.EADDRINUSE)}))
		if !strings.HasSuffix(err.Error(), "choose another port "+do) {
			t.Errorf("%s: %v", key, err)
		}
	}
	held, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	p := peer.DefaultConfig()
	p.ClusterName, p.ID, p.Listen, p.Logger = "test", "rm1", held.Addr().String(), hclog.NewNullLogger()
	if _, err := peer.Listen(p); err == nil || !strings.HasSuffix(openError(err).Error(), "another port with raft.listen") {
		t.Errorf("a port for replicas that is taken: %v", err)
	}
}
