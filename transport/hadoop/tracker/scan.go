package tracker

import (
	"errors"
	"hash/maphash"
	"math"
	"net/netip"

	"google.golang.org/protobuf/encoding/protowire"
)

// beat has the facts of a heartbeat that the fast path needs. They are read without an allocation.
// Decoding the whole message takes several times as long as the rest of such a heartbeat; see the
// benchmarks.
type beat struct {
	host      []byte // shares the memory of the request
	port      int32
	response  int32
	unhealthy bool // the node reports that it is unhealthy
	// judged says that the report contains the node's health, and healthy is its value.
	judged, healthy bool
	// hash is a hash of the container statuses in their order. containers is their number.
	hash       uint64
	containers int
	more       bool // there are labels, log aggregation reports, or increased containers
	// containerKey and nmKey are the ids of the node's keys. 0 means none.
	containerKey, nmKey int32
	// tokens is the node's number of the replaced tokens. keepsAlive says that it still collects the
	// logs of ended applications.
	tokens     int64
	keepsAlive bool
	use        Utilization
	conn       uint64     // the id of the connection
	from       netip.Addr // the caller's address; not valid: unknown
}

// seed is the seed of the hashes, which are used only in this process.
var seed = maphash.MakeSeed()

var (
	errStatusTwice = errors.New("two node statuses")
	errNoNode      = errors.New("host or port of the node id missing or wrong")
)

// responseMax is the highest response id. The next one is 0.
const responseMax = math.MaxInt32

// next returns the response id after id.
func next(id int32) int32 { return (id + 1) & responseMax }

// scan reads a NodeHeartbeatRequestProto. As in protobuf, a field with another wire type is
// ignored.
func (b *beat) scan(data []byte) error {
	var status bool
	err := fields(data, func(num protowire.Number, v value) error {
		switch num {
		case 1:
			if v.bytes == nil {
				return nil
			}
			if status {
				return errStatusTwice
			}
			status = true
			return fields(v.bytes, b.status)
		case 2:
			return keyID(v.bytes, &b.containerKey)
		case 3:
			return keyID(v.bytes, &b.nmKey)
		case 4, 5:
			b.more = true
		case 8:
			v.int64(&b.tokens)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(b.host) == 0 || b.port < 0 || b.port > math.MaxUint16 {
		return errNoNode
	}
	b.response &= responseMax
	b.unhealthy = b.judged && !b.healthy
	return nil
}

// status reads a field of NodeStatusProto.
func (b *beat) status(num protowire.Number, v value) error {
	switch num {
	case 1:
		return fields(v.bytes, b.node)
	case 2:
		v.int32(&b.response)
	case 3:
		if v.bytes != nil {
			b.containers++
			b.hash = b.hash*0x9e3779b97f4a7c15 + maphash.Bytes(seed, v.bytes)
		}
	case 4:
		if v.bytes == nil {
			return nil
		}
		b.judged = true
		return fields(v.bytes, b.health)
	case 5:
		b.keepsAlive = true
	case 6:
		return fields(v.bytes, b.use.Containers.read)
	case 8:
		b.more = b.more || v.bytes != nil
	case 7:
		return fields(v.bytes, b.use.Node.read)
	case 9:
		return fields(v.bytes, b.use.Opportunistic.read)
	}
	return nil
}

func (b *beat) node(num protowire.Number, v value) error {
	switch num {
	case 1:
		if v.bytes != nil {
			b.host = v.bytes
		}
	case 2:
		v.int32(&b.port)
	}
	return nil
}

func (b *beat) health(num protowire.Number, v value) error {
	if num == 1 && v.kind == protowire.VarintType {
		b.healthy = v.number != 0
	}
	return nil
}

func keyID(data []byte, to *int32) error {
	return fields(data, func(num protowire.Number, v value) error {
		if num == 1 {
			v.int32(to)
		}
		return nil
	})
}

// read reads a field of a ResourceUtilizationProto.
func (u *Usage) read(num protowire.Number, v value) error {
	switch num {
	case 1:
		v.int32(&u.MemoryMB)
	case 2:
		v.int32(&u.VirtualMB)
	case 3:
		if v.kind == protowire.Fixed32Type {
			u.CPU = math.Float32frombits(uint32(v.number))
		}
	}
	return nil
}

// read reads a field of an OpportunisticContainersStatusProto.
func (o *Opportunistic) read(num protowire.Number, v value) error {
	switch num {
	case 1:
		v.int32(&o.Running)
	case 2:
		v.int64(&o.MemoryMB)
	case 3:
		v.int32(&o.VCores)
	case 4:
		v.int32(&o.Queued)
	case 5:
		v.int32(&o.WaitQueue)
	case 6:
		v.int32(&o.EstimatedWaitMillis)
	case 7:
		v.int32(&o.QueueCapacity)
	}
	return nil
}

// value is one field: a number, or bytes that are not nil. raw is the whole field with its tag.
type value struct {
	kind       protowire.Type
	number     uint64
	bytes, raw []byte
}

// int32 sets to to the number of a varint field. It reports whether the field is one.
func (v value) int32(to *int32) bool {
	if v.kind != protowire.VarintType {
		return false
	}
	*to = int32(v.number)
	return true
}

// int64 is int32 for an int64.
func (v value) int64(to *int64) bool {
	if v.kind != protowire.VarintType {
		return false
	}
	*to = int64(v.number)
	return true
}

// fields calls f for each field of a message. It does not allocate.
func fields(data []byte, f func(protowire.Number, value) error) error {
	for len(data) > 0 {
		num, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return protowire.ParseError(n)
		}
		raw := data
		data = data[n:]
		v := value{kind: kind}
		switch kind {
		case protowire.VarintType:
			v.number, n = protowire.ConsumeVarint(data)
		case protowire.BytesType:
			v.bytes, n = protowire.ConsumeBytes(data)
			if n >= 0 && v.bytes == nil {
				v.bytes = data[:0]
			}
		case protowire.Fixed32Type:
			var x uint32
			x, n = protowire.ConsumeFixed32(data)
			v.number = uint64(x)
		default:
			n = protowire.ConsumeFieldValue(num, kind, data)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		data = data[n:]
		v.raw = raw[:len(raw)-len(data)]
		if err := f(num, v); err != nil {
			return err
		}
	}
	return nil
}
