package tracker

import (
	"errors"
	"hash/maphash"
	"math"
	"net/netip"

	"google.golang.org/protobuf/encoding/protowire"
)

// beat is what can be read off a heartbeat without making anything: all that the
// answer to one that says nothing new needs. Decoding the whole message takes
// several times as long as the rest of such a heartbeat; see the benchmarks.
type beat struct {
	host      []byte // of the request's bytes
	port      int32
	response  int32
	unhealthy bool // it says of itself that it is
	// judged and healthy are how it says so.
	judged, healthy bool
	// hash is over the container statuses in their order, containers their number.
	hash       uint64
	containers int
	more       bool // there are labels, log aggregation reports, or containers that have grown
	// The ids of the keys that the node knows; 0 is none.
	containerKey, nmKey int32
	use                 Utilization
	conn                uint64     // that it came over
	from                netip.Addr // and from where; not valid: not known
}

// seed makes the hashes of container statuses; they never leave the process.
var seed = maphash.MakeSeed()

var (
	errStatusTwice = errors.New("two node statuses")
	errNoNode      = errors.New("host or port of the node id missing or wrong")
)

// responseMax is where response ids wrap to 0.
const responseMax = math.MaxInt32

// next is the response id after id.
func next(id int32) int32 { return (id + 1) & responseMax }

// scan reads a NodeHeartbeatRequestProto. A field of another type than its own
// is passed over, as protobuf wants it.
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

// read takes a field of ResourceUtilizationProto.
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

// read takes a field of OpportunisticContainersStatusProto.
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

// value is one field: a number, or bytes that are not nil. raw is all of it, its tag first.
type value struct {
	kind       protowire.Type
	number     uint64
	bytes, raw []byte
}

// int32 takes the number of a field that has one, and says whether it does.
func (v value) int32(to *int32) bool {
	if v.kind != protowire.VarintType {
		return false
	}
	*to = int32(v.number)
	return true
}

// int64 is int32 for larger numbers.
func (v value) int64(to *int64) bool {
	if v.kind != protowire.VarintType {
		return false
	}
	*to = int64(v.number)
	return true
}

// fields calls f for each field of a message. It makes nothing when f does not.
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
