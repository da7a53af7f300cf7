package hadoop

import (
	"bufio"
	"context"
	"net"
	"time"
)

// Conn is a connection to one port. It makes one call at a time.
type Conn struct {
	net      net.Conn
	in       *bufio.Reader
	protocol string
	call     int32
}

// Dial opens a connection and sends the user's name without authentication, as NodeManagers do
// without Kerberos.
func Dial(ctx context.Context, address, user, protocol string) (*Conn, error) {
	d := net.Dialer{Timeout: 2 * time.Second}
	nc, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c := &Conn{net: nc, in: bufio.NewReader(nc), protocol: protocol}
	if _, err := nc.Write(append(Preamble(AuthNone), Context(user, protocol)...)); err != nil {
		_ = nc.Close() // the write error is returned
		return nil, err
	}
	return c, nil
}

// Call makes one call and returns the response message. A *Refusal is the server's answer. After
// another error the connection cannot be used again, and the server may have executed the call.
func (c *Conn) Call(ctx context.Context, within time.Duration, method string, request []byte) ([]byte, error) {
	_ = c.net.SetDeadline(time.Now().Add(within)) // on a closed connection the next step fails
	defer context.AfterFunc(ctx, func() { _ = c.net.SetDeadline(time.Unix(1, 0)) })()
	c.call++
	if _, err := c.net.Write(Request(c.call, c.protocol, method, request)); err != nil {
		return nil, err
	}
	return ReadReply(c.in)
}

// Close ends the connection.
func (c *Conn) Close() error { return c.net.Close() }
