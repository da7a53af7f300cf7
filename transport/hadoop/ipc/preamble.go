package ipc

import "fmt"

// notFound is the answer to an HTTP client at this port.
const notFound = "HTTP/1.1 404 Not Found\r\n" +
	"Content-Type: text/plain\r\n" +
	"Connection: close\r\n\r\n" +
	"This port speaks Hadoop IPC, not HTTP. The web pages are on the port of yarn.resourcemanager.webapp.address.\r\n"

// greet reads the first seven bytes of a connection.
func (c *Conn) greet() error {
	b, err := c.in.take(len(preamble) + 1)
	if err != nil {
		return err
	}
	switch auth, m := b[6], string(b[:4]); {
	case m == "GET " || m == "POST" || m == "PUT " || m == "DELE" || m == "HEAD": // Hadoop knows the first
		if out, err := c.out.begin(); err == nil {
			out.b = append(out.b, notFound...)
			c.out.finish(true, false)
		}
		return errRefused
	case m != preamble[:4] || b[4] != ipcVersion:
		return c.refuse(idAuthFailed, noRetry, fatal(DetailFatalVersion, ClassVersion,
			"this server speaks IPC version %d, the client %d", ipcVersion, b[4]))
	case auth == authSasl:
		c.sasl = true
	case auth != authNone:
		return c.refuse(idAuthFailed, noRetry, fatal(DetailFatalAuthorized, ClassIPC,
			"unknown authentication byte %#02x", auth))
	case !c.s.cfg.Auth.simple():
		if f := c.s.cfg.Observe.Handshake; f != nil {
			f(KindSimple, lastName(ClassAccessControl))
		}
		e := fatal(DetailFatalAuthorized, ClassAccessControl, "%s", notEnabled(KindSimple, c.s.cfg.Auth))
		c.logRefusal("caller is not authenticated", e)
		return c.refuse(idAuthFailed, noRetry, e)
	}
	return nil
}

// notEnabled returns Hadoop's text for an authentication that the port does not offer.
func notEnabled(method string, a Auth) string {
	return fmt.Sprintf("%s authentication is not enabled.  Available:%s", method, a)
}

// refuse sends an error that ends the connection. The client id of such a reply is empty.
func (c *Conn) refuse(call, retry int32, e *Error) error {
	if out, err := c.out.begin(); err == nil {
		h := responseHeader{call: call, retry: retry, status: statusFatal, err: e}
		out.b = h.appendFrame(out.b)
		c.out.finish(true, false)
	}
	return fmt.Errorf("%w: %w", errRefused, e)
}
