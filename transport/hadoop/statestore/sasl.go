package statestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"rmd/internal/gss"
	"rmd/transport/hadoop/token/digest"
)

// Login begins a login (SASL) at the server that was dialed at an address.
type Login func(at net.Addr) (Exchange, error)

// Exchange is one login. It returns the response to a challenge of the server, and last if the
// server's next answer only accepts or refuses. The first challenge is nil.
type Exchange func(challenge []byte) (response []byte, last bool, err error)

// DigestMD5 logs in with a user and a password.
func DigestMD5(user, password string) Login {
	return func(net.Addr) (Exchange, error) {
		c := digest.NewClientAt("zookeeper/zk-sasl-md5", user, password, digest.Authentication)
		answered := false
		return func(challenge []byte) ([]byte, bool, error) {
			switch {
			case challenge == nil:
				return []byte{}, false, nil
			case answered:
				return nil, false, c.Verify(challenge)
			}
			answered = true
			response, err := c.Answer(challenge)
			return response, false, err
		}, nil
	}
}

// GSSAPI logs in with a ticket for the service at an address.
func GSSAPI(ticket func(at net.Addr) (gss.Ticket, error)) Login {
	return func(at net.Addr) (Exchange, error) {
		t, err := ticket(at)
		if err != nil {
			return nil, err
		}
		i, token, err := gss.Initiate(t, time.Now())
		if err != nil {
			return nil, err
		}
		var ctx *gss.Context
		return func(challenge []byte) (response []byte, last bool, err error) {
			switch {
			case challenge == nil:
				return token, false, nil
			case ctx == nil:
				ctx, err = i.Finish(challenge)
				return []byte{}, false, err
			}
			layers, _, err := ctx.Unwrap(challenge)
			if err != nil || len(layers) < 4 || layers[0]&noLayer == 0 {
				return nil, false, fmt.Errorf("the server's offer of protection is %x: %w", layers,
					errors.Join(err, errors.New("only connections without protection are spoken to ZooKeeper")))
			}
			return ctx.Wrap(nil, []byte{noLayer, 0, 0, 0}, false), true, nil
		}, nil
	}
}

// noLayer is the layer of RFC 4752 without protection.
const noLayer = 1

const (
	opSasl   = 102
	saslMax  = 64 << 10 // bytes of an answer
	saslLegs = 8        // answers of one login
)

// logIn logs in at the beginning of a session, before the library sends requests. The numbers of the
// requests are not those of the library, which begin at 1.
func (c *guard) logIn(login Login) error {
	_ = c.Conn.SetDeadline(time.Now().Add(sessionTimeout)) // on an error, reading fails
	next, err := login(c.RemoteAddr())
	if err != nil {
		return err
	}
	var challenge []byte
	for number := range uint32(saslLegs) {
		response, last, err := next(challenge)
		if err != nil || response == nil {
			return err
		}
		if challenge, err = c.ask(saslNumber+number, response); err != nil || last {
			return err
		}
	}
	return fmt.Errorf("ZooKeeper answers more than %d times", saslLegs)
}

// saslNumber is the number of the first request of a login.
const saslNumber = 1 << 30

// ask sends a token and returns that of the answer.
func (c *guard) ask(number uint32, token []byte) ([]byte, error) {
	b := binary.BigEndian.AppendUint32(nil, uint32(12+len(token)))
	b = binary.BigEndian.AppendUint32(b, number)
	b = binary.BigEndian.AppendUint32(b, opSasl)
	b = binary.BigEndian.AppendUint32(b, uint32(len(token)))
	if _, err := c.Conn.Write(append(b, token...)); err != nil {
		return nil, err
	}
	var length [4]byte
	if _, err := io.ReadFull(c.Conn, length[:]); err != nil {
		return nil, fmt.Errorf("ZooKeeper ends the connection during the login: %w", err)
	}
	n := binary.BigEndian.Uint32(length[:])
	if n < answerHeader || n > saslMax {
		return nil, fmt.Errorf("an answer to the login has %d bytes", n)
	}
	answer := make([]byte, n)
	if _, err := io.ReadFull(c.Conn, answer); err != nil {
		return nil, err
	}
	if got := binary.BigEndian.Uint32(answer); got != number {
		return nil, fmt.Errorf("ZooKeeper answers request %d, not %d", got, number)
	}
	if code := int32(binary.BigEndian.Uint32(answer[12:])); code != 0 {
		return nil, fmt.Errorf("ZooKeeper refuses it with code %d", code)
	}
	answer = answer[answerHeader:]
	rest, err := skip(answer)
	if err != nil {
		return nil, err
	}
	if len(rest) == len(answer)-4 { // no token, or an empty one
		return []byte{}, nil
	}
	return answer[4 : len(answer)-len(rest)], nil
}
