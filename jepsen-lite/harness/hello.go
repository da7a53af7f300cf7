package harness

import (
	"encoding/binary"
	"io"
	"net"
	"time"
)

// helloWait limits how long a dialer may take to send its hello.
const helloWait = 10 * time.Second

// peerDialer reads the hello of a replica and returns its id and the bytes that it has read. A
// hello has 4 bytes of magic, 1 byte of version, 2 bytes of length, and a body. The body has 1 byte
// of kind, 1 of code, 8 of boot, and texts, each after one byte of length: a text, the cluster's
// name, the replica's id, and more. A dialer without such a hello is Outside.
func peerDialer(c net.Conn) (string, []byte, error) {
	_ = c.SetReadDeadline(time.Now().Add(helloWait))
	defer c.SetReadDeadline(time.Time{})
	head := make([]byte, 7)
	if _, err := io.ReadFull(c, head); err != nil {
		return "", nil, err
	}
	if string(head[:4]) != "RMDP" {
		return Outside, head, nil // not a replica; the replica must refuse it
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
