package peer

import (
	"crypto/ed25519"
	"net"
	"slices"
)

// caller is the replica at the other end of a connection, as the handshake has proven.
type caller struct {
	server string // ID.INCARNATION
	kind   Kind
	addr   string            // the dialed address; empty for an accepted connection
	serial string            // serial number of its certificate
	key    ed25519.PublicKey // nil if there is no proof
}

// gate has the access rules. Package cluster sets them.
type gate struct {
	admitConn       func(server, kind, addr, serial string, key ed25519.PublicKey) (code, text string)
	authorizeCall   func(method byte, server string) error
	authorizeAnswer func(method byte, server string) error
	member          func(server string) bool
}

// SetGate sets the access rules. admitConn checks the other end of each new connection. It returns
// the name of a HelloCode, or "" to accept; addr is the dialed address, and empty for an accepted
// connection. authorizeCall checks each received call, and authorizeAnswer each call before it is
// sent, by the method and the replica at the other end. member reports whether a replica is a
// member. Replicas that are not have few connections, and few and small calls.
func (s *Server) SetGate(admitConn func(server, kind, addr, serial string, key ed25519.PublicKey) (code, text string),
	authorizeCall, authorizeAnswer func(method byte, server string) error, member func(server string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate = gate{admitConn, authorizeCall, authorizeAnswer, member}
}

// SetKey sets the key with which the server proves its identity.
func (s *Server) SetKey(key ed25519.PrivateKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = key
}

// Proves reports whether hellos contain proofs. They do over TLS.
func (s *Server) Proves() bool { return s.cfg.TLS != nil }

// Methods returns the numbers of all methods with a handler, sorted.
func (s *Server) Methods() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []byte
	for m := range s.handlers {
		all = append(all, m)
	}
	slices.Sort(all)
	return all
}

// rules returns the access rules and the key.
func (s *Server) rules() (gate, ed25519.PrivateKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gate, s.key
}

// isStranger reports whether a replica is known not to be a member.
func (g gate) isStranger(server string) bool { return g.member != nil && !g.member(server) }

// admits applies admitConn to the other end of a connection.
func (g gate) admits(c caller) (HelloCode, string) {
	if g.admitConn == nil {
		return HelloOK, ""
	}
	name, text := g.admitConn(c.server, kindName(c.kind), c.addr, c.serial, c.key)
	if name == "" {
		return HelloOK, ""
	}
	if i := slices.Index(helloNames[:], name); i > 0 {
		return HelloCode(i), text
	}
	return HelloNotMember, name + ": " + text
}

// Recheck ends the connections that the access rules no longer allow.
func (s *Server) Recheck() {
	g, _ := s.rules()
	s.mu.Lock()
	open := map[net.Conn]caller{}
	for c, who := range s.conns {
		if who.server != "" {
			open[c] = who
		}
	}
	s.mu.Unlock()
	for c, who := range open {
		if code, text := g.admits(who); code != HelloOK {
			s.cfg.Logger.Info("connection ended", "replica", who.server, "code", code, "why", text)
			_ = c.Close()
		}
	}
}
