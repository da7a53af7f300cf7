package hadoop

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// scanner iterates over the fields of a message without allocations.
type scanner struct {
	rest   []byte
	num    protowire.Number
	number uint64 // of a varint
	bytes  []byte // of a length-delimited field; a part of the message
	err    error
}

// next moves to the next field with a number or bytes. It returns false at the end or after an
// error.
func (s *scanner) next() bool {
	for len(s.rest) > 0 && s.err == nil {
		num, kind, n := protowire.ConsumeTag(s.rest)
		if n < 0 {
			s.err = protowire.ParseError(n)
			return false
		}
		s.rest = s.rest[n:]
		s.num, s.number, s.bytes = num, 0, nil
		switch kind {
		case protowire.VarintType:
			s.number, n = protowire.ConsumeVarint(s.rest)
		case protowire.BytesType:
			s.bytes, n = protowire.ConsumeBytes(s.rest)
		default:
			n = protowire.ConsumeFieldValue(num, kind, s.rest)
		}
		if n < 0 {
			s.err = protowire.ParseError(n)
			return false
		}
		s.rest = s.rest[n:]
		if kind == protowire.VarintType || kind == protowire.BytesType {
			return true
		}
	}
	return false
}

// beatReply has the fields of NodeHeartbeatResponseProto that a node uses.
type beatReply struct {
	response             int32
	action               uint64
	containerKey, nmKey  []byte
	kill                 [][]byte
	diagnostics          []byte
	sequence             uint64
	told                 bool // the message has sequence
	removed, appsCleaned int
}

func (r *beatReply) scan(b []byte) error {
	s := scanner{rest: b}
	for s.next() {
		switch s.num {
		case 1:
			r.response = int32(s.number)
		case 2:
			r.containerKey = s.bytes
		case 3:
			r.nmKey = s.bytes
		case 4:
			r.action = s.number
		case 5:
			r.kill = append(r.kill, s.bytes)
		case 6:
			r.appsCleaned++
		case 8:
			r.diagnostics = s.bytes
		case 9:
			r.removed++
		case 19:
			r.sequence, r.told = s.number, true
		}
	}
	return s.err
}

// containerID is a ContainerIdProto.
type containerID struct {
	app     uint64
	attempt uint64
	number  uint64
	found   bool
}

func (c *containerID) scan(b []byte) error {
	s := scanner{rest: b}
	for s.next() {
		switch s.num {
		case 2:
			at := scanner{rest: s.bytes}
			for at.next() {
				switch at.num {
				case 1:
					app := scanner{rest: at.bytes}
					for app.next() {
						if app.num == 1 {
							c.app = app.number
						}
					}
				case 2:
					c.attempt = at.number
				}
			}
		case 3:
			c.number, c.found = s.number, true
		}
	}
	return s.err
}

// grant is a ContainerProto in an allocate response.
type grant struct {
	rawID  []byte
	id     containerID
	host   []byte
	port   uint64
	mb     int64
	slot   int64
	tokens bool
}

func (g *grant) scan(b []byte) error {
	*g = grant{slot: -1}
	s := scanner{rest: b}
	for s.next() {
		switch s.num {
		case 1:
			g.rawID = s.bytes
			if err := g.id.scan(s.bytes); err != nil {
				return err
			}
		case 2:
			n := scanner{rest: s.bytes}
			for n.next() {
				switch n.num {
				case 1:
					g.host = n.bytes
				case 2:
					g.port = n.number
				}
			}
		case 4:
			n := scanner{rest: s.bytes}
			for n.next() {
				if n.num == 1 {
					g.mb = int64(n.number)
				}
			}
		case 6:
			g.tokens = len(s.bytes) > 0
		case 8:
			g.slot = int64(s.number)
		}
	}
	return s.err
}

// ending is a ContainerStatusProto in an allocate response.
type ending struct {
	id    containerID
	state uint64
	exit  int32
}

func (e *ending) scan(b []byte) error {
	*e = ending{exit: exitUnknown}
	s := scanner{rest: b}
	for s.next() {
		switch s.num {
		case 1:
			if err := e.id.scan(s.bytes); err != nil {
				return err
			}
		case 2:
			e.state = s.number
		case 4:
			e.exit = int32(s.number)
		}
	}
	return s.err
}
