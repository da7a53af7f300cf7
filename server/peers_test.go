package server

import (
	"net"
	"os"
	"testing"

	"github.com/hashicorp/go-hclog"

	"rmd/config"
	"rmd/internal/portblock"
)

// TestDialable checks that a port which listens on all addresses is announced with the advertised
// host.
func TestDialable(t *testing.T) {
	for _, c := range []struct{ listens, advertised, want string }{
		{"[::]:8088", "10.0.0.11:8034", "10.0.0.11:8088"},
		{"0.0.0.0:8088", "rm1.example:8034", "rm1.example:8088"},
		{"[::]:8088", "[fd00::1]:8034", "[fd00::1]:8088"},
		{"127.0.0.1:8088", "10.0.0.11:8034", "127.0.0.1:8088"},
		{"[fd00::2]:8088", "10.0.0.11:8034", "[fd00::2]:8088"},
		{"", "10.0.0.11:8034", ""},
	} {
		if got := dialable(c.listens, c.advertised); got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.listens, c.advertised, got, c.want)
		}
	}
}

// TestPagesOverTLSOnly checks that a replica which serves pages only over TLS has no plain address,
// and that its port is closed after Close, also if Open failed.
func TestPagesOverTLSOnly(t *testing.T) {
	ca, at := newAuthority(t, "prod"), portblock.Open(t)
	k := config.Default()
	k.ID, k.Cluster, k.Data = "rm1", "prod", t.TempDir()
	if err := os.Chmod(k.Data, 0o700); err != nil {
		t.Fatal(err)
	}
	k.Raft.Listen, k.HTTP.Listen, k.HTTP.ListenTLS, k.TLS = portblock.Loopback(at.Take()), off,
		portblock.Loopback(at.Take()), ca.issue("prod", "rm1")
	r, err := Open(Options{Config: k, Version: "test", Logger: hclog.NewNullLogger()})
	if err != nil {
		t.Fatal(err)
	}
	plain, secure := r.pages()
	if plain != "" || secure != k.HTTP.ListenTLS {
		t.Errorf("plain %q, over TLS %q", plain, secure)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	k.HadoopConfDir = t.TempDir() + "/none"
	if _, err := Open(Options{Config: k, Version: "test", Logger: hclog.NewNullLogger()}); err == nil {
		t.Fatal("a directory that does not exist is opened")
	}
	l, err := net.Listen("tcp", k.HTTP.ListenTLS)
	if err != nil {
		t.Fatalf("the port is not closed: %v", err)
	}
	_ = l.Close()
}
