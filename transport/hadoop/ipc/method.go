package ipc

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"rmd/transport/hadoop/bounded"
)

// Protocol is a set of methods with the name that requests contain.
type Protocol struct {
	// Name is the Java interface, for instance
	// org.apache.hadoop.yarn.api.ApplicationClientProtocolPB.
	Name string
	// Version is the protocol's version. It is 1 for all of YARN's protocols. 0 means 1.
	Version uint64
	// Methods are the methods by name.
	Methods map[string]Method
}

// Method is a method of a protocol. Handle and HandleBytes create it.
type Method struct {
	shape  *bounded.Shape // of the request
	decode func([]byte) (proto.Message, error)
	serve  func(context.Context, *Call, proto.Message) (proto.Message, error)
	bytes  func(context.Context, *Call, []byte) ([]byte, error)
	inline bool
	large  bool
}

// Handle returns a method that calls a function with decoded messages. The function runs on a
// worker of the server. Its context ends with the connection or the server.
func Handle[Req any, Resp proto.Message, P interface {
	*Req
	proto.Message
}](f func(context.Context, *Call, P) (Resp, error)) Method {
	return Method{
		shape: bounded.ShapeOf(P(new(Req))),
		decode: func(b []byte) (proto.Message, error) {
			m := P(new(Req))
			return m, Unmarshal(b, m)
		},
		serve: func(ctx context.Context, c *Call, m proto.Message) (proto.Message, error) {
			return f(ctx, c, m.(P))
		},
	}
}

// HandleBytes returns a method that calls a function with encoded messages. request is a message of
// the request's type. The function must not keep or change the request after it returns. The server
// may change the reply.
func HandleBytes(request proto.Message, f func(context.Context, *Call, []byte) ([]byte, error)) Method {
	return Method{shape: bounded.ShapeOf(request), bytes: f}
}

// Inline returns a method that runs on the goroutine that reads the connection, which saves a
// switch of goroutines. It is for methods that nearly always return at once, and that call
// Call.Detach before they block.
func (m Method) Inline() Method {
	m.inline = true
	return m
}

// Large returns a method whose reply may be large, such as a list. Only a few calls of such methods
// run at the same time.
func (m Method) Large() Method {
	m.large = true
	return m
}

// entry is a method in the table of a server.
type entry struct {
	Method
	protocol, name string
}

// service is a protocol in the table of a server.
type service struct {
	name    string
	version uint64
	methods map[string]*entry
}

// register creates the table of protocols. It returns an error for each invalid one.
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
