package harness

import (
	"encoding/binary"
	"io"
	"net"
	"time"
)

// helloWait bounds how long a dialer may take to say who it is.
const helloWait = 10 * time.Second

// peerDialer reads the hello of a replica: magic 4, version 1, length 2, and a
// body of kind 1, code 1, boot 8 and texts of one length byte each: a text, the
// cluster's name, the replica's id, and more.
func peerDialer(c net.Conn) (string, []byte, error) {
	_ = c.SetReadDeadline(time.Now().Add(helloWait))
	defer c.SetReadDeadline(time.Time{})
	head := make([]byte, 7)
	if _, err := io.ReadFull(c, head); err != nil {
		return "", nil, err
	}
	if string(head[:4]) != "RMDP" {
		return Outside, head, nil // a stranger; the replica is to refuse it
	}
	body := make([]byte, binary.BigEndian.Uint16(head[5:]))
	n, err := io.ReadFull(c, body)
	read := append(head, body[:n]...)
	if err != nil {
		return Outside, read, nil
	}
	rest := body[min(10, len(body)):]
	for range 2 {
		if len(rest) == 0 || len(rest) < 1+int(rest[0]) {
			return Outside, read, nil
		}
		rest = rest[1+int(rest[0]):]
	}
	if len(rest) == 0 || len(rest) < 1+int(rest[0]) {
		return Outside, read, nil
	}
	return string(rest[1 : 1+int(rest[0])]), read, nil
}
