package hadoop

import (
	"bufio"
	"context"
	"net"
	"time"
)

// Conn is a connection to one port, for one call at a time.
type Conn struct {
	net      net.Conn
	in       *bufio.Reader
	protocol string
	call     int32
}

// Dial opens a connection and says who calls, without a proof: as NodeManagers do
// where there is no Kerberos.
func Dial(ctx context.Context, address, user, protocol string) (*Conn, error) {
	d := net.Dialer{Timeout: 2 * time.Second}
	nc, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c := &Conn{net: nc, in: bufio.NewReader(nc), protocol: protocol}
	if _, err := nc.Write(append(Preamble(AuthNone), Context(user, protocol)...)); err != nil {
		_ = nc.Close() // it is of no use
		return nil, err
	}
	return c, nil
}

// Call makes one call. After an error that is no *Refusal the connection is of no
// use, and the call may have been taken.
func (c *Conn) Call(ctx context.Context, within time.Duration, method string, request []byte) ([]byte, error) {
	_ = c.net.SetDeadline(time.Now().Add(within)) // an ended one tells at the next step
	defer context.AfterFunc(ctx, func() { _ = c.net.SetDeadline(time.Unix(1, 0)) })()
	c.call++
	if _, err := c.net.Write(Request(c.call, c.protocol, method, request)); err != nil {
		return nil, err
	}
	return ReadReply(c.in)
}

// Close ends the connection.
func (c *Conn) Close() error { return c.net.Close() }
