package ipc

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"
)

// Protocol is a set of methods under the name that callers give it in each
// request.
type Protocol struct {
	// Name is the Java interface, as
	// org.apache.hadoop.yarn.api.ApplicationClientProtocolPB.
	Name string
	// Version is 1 for all of YARN's; 0 stands for it.
	Version uint64
	// Methods by name.
	Methods map[string]Method
}

// Method is one thing to call; Handle and HandleBytes make it.
type Method struct {
	decode func([]byte) (proto.Message, error)
	serve  func(context.Context, *Call, proto.Message) (proto.Message, error)
	bytes  func(context.Context, *Call, []byte) ([]byte, error)
	inline bool
}

// Handle makes a method of a function over two messages. The function runs on a
// worker of the server; its context ends with the connection and with the
// server.
func Handle[Req any, Resp proto.Message, P interface {
	*Req
	proto.Message
}](f func(context.Context, *Call, P) (Resp, error)) Method {
	return Method{
		decode: func(b []byte) (proto.Message, error) {
			m := P(new(Req))
			return m, Unmarshal(b, m)
		},
		serve: func(ctx context.Context, c *Call, m proto.Message) (proto.Message, error) {
			return f(ctx, c, m.(P))
		},
	}
}

// HandleBytes makes a method of a function over encoded messages, for those who
// read and write them by hand. The request must not be kept or changed after the
// function returns; the reply is the server's when it has.
func HandleBytes(f func(context.Context, *Call, []byte) ([]byte, error)) Method {
	return Method{bytes: f}
}

// Inline lets the method run on the goroutine that reads the connection, which
// saves a change of goroutine. It is for methods that answer at once nearly
// always, and that call Call.Detach before they wait.
func (m Method) Inline() Method {
	m.inline = true
	return m
}

var unmarshal = proto.UnmarshalOptions{DiscardUnknown: true}

// entry is a method as it is found by a request.
type entry struct {
	Method
	protocol, name string
}

// service is a protocol as it is found by a request.
type service struct {
	name    string
	version uint64
	methods map[string]*entry
}

// register makes the table that requests are looked up in.
func register(protocols []Protocol) (map[string]*service, error) {
	table := make(map[string]*service, len(protocols))
	var errs []error
	for _, p := range protocols {
		if p.Name == "" {
			errs = append(errs, errors.New("a protocol has no name"))
			continue
		}
		if table[p.Name] != nil {
			errs = append(errs, fmt.Errorf("protocol %s is given twice", p.Name))
			continue
		}
		s := &service{name: p.Name, version: max(p.Version, 1), methods: make(map[string]*entry, len(p.Methods))}
		for name, m := range p.Methods {
			if m.serve == nil && m.bytes == nil {
				errs = append(errs, fmt.Errorf("method %s of %s has no function", name, p.Name))
			}
			s.methods[name] = &entry{Method: m, protocol: p.Name, name: name}
		}
		table[p.Name] = s
	}
	return table, errors.Join(errs...)
}
