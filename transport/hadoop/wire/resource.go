package wire

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"rmd/transport/hadoop/proto"
	"rmd/yarn"
)

// memoryUnits is the unit of memory-mb in messages. Every other resource type has the unit "".
const memoryUnits = "Mi"

// Resource decodes a resource. As in YARN, memory and vcores are fields 1 and 2, whatever the map
// says. Further resource types are in the map, in any unit that YARN knows. Types that the cluster
// does not have are ignored. nil gives the zero resource. Values may be negative; the caller must
// check that.
func Resource(p *proto.ResourceProto, kinds yarn.Kinds) (yarn.Resource, error) {
	if p == nil {
		return yarn.Resource{}, nil
	}
	r := yarn.NewResource(p.GetMemory(), int64(p.GetVirtualCores()))
	for _, e := range p.GetResourceValueMap() {
		i := kinds.Index(e.GetKey())
		if i <= yarn.VCores || i >= yarn.MaxKinds {
			continue
		}
		v, ok := ones(e.GetValue(), e.GetUnits())
		if !ok {
			return yarn.Resource{}, invalid("%d %q of resource %q", e.GetValue(), e.GetUnits(), e.GetKey())
		}
		r[i] = v
	}
	return r, nil
}

// ResourceProto encodes a resource as the Java ResourceManager does: memory and vcores in their own
// fields, and every resource type of the cluster in the map. Vcores that do not fit YARN's 32 bits
// are encoded as the nearest number that does.
func ResourceProto(r yarn.Resource, kinds yarn.Kinds) *proto.ResourceProto {
	p := &proto.ResourceProto{Memory: new(r[yarn.Memory]), VirtualCores: new(clamp32(r[yarn.VCores]))}
	n := min(max(len(kinds), 2), yarn.MaxKinds)
	p.ResourceValueMap = make([]*proto.ResourceInformationProto, n)
	for i := range n {
		name, units := kindName(kinds, i)
		p.ResourceValueMap[i] = &proto.ResourceInformationProto{
			Key: new(name), Value: new(r[i]), Units: new(units), Type: proto.ResourceTypesProto_COUNTABLE.Enum(),
		}
	}
	return p
}

// ResourceTypeInfos encodes the resource types of the cluster.
func ResourceTypeInfos(kinds yarn.Kinds) []*proto.ResourceTypeInfoProto {
	out := make([]*proto.ResourceTypeInfoProto, min(max(len(kinds), 2), yarn.MaxKinds))
	for i := range out {
		name, units := kindName(kinds, i)
		out[i] = &proto.ResourceTypeInfoProto{Name: new(name), Units: new(units),
			Type: proto.ResourceTypesProto_COUNTABLE.Enum()}
	}
	return out
}

func kindName(kinds yarn.Kinds, i int) (name, units string) {
	switch i {
	case yarn.Memory:
		return yarn.MemoryName, memoryUnits
	case yarn.VCores:
		return yarn.VCoresName, ""
	}
	return kinds[i], ""
}

// ones converts a value from one of YARN's units to the unit "". Fractions are cut off, as in YARN.
// ok is false if the unit is unknown or the result does not fit.
func ones(v int64, units string) (int64, bool) {
	switch units {
	case "":
		return v, true
	case "m":
		return v / 1e3, true
	case "u":
		return v / 1e6, true
	case "n":
		return v / 1e9, true
	case "p":
		return v / 1e12, true
	case "k":
		return times(v, 1e3)
	case "M":
		return times(v, 1e6)
	case "G":
		return times(v, 1e9)
	case "T":
		return times(v, 1e12)
	case "P":
		return times(v, 1e15)
	case "Ki":
		return times(v, 1<<10)
	case "Mi":
		return times(v, 1<<20)
	case "Gi":
		return times(v, 1<<30)
	case "Ti":
		return times(v, 1<<40)
	case "Pi":
		return times(v, 1<<50)
	}
	return 0, false
}

func times(v, factor int64) (int64, bool) {
	if v == math.MinInt64 {
		return 0, false
	}
	hi, lo := bits.Mul64(uint64(max(v, -v)), uint64(factor))
	if hi != 0 || lo > math.MaxInt64 {
		return 0, false
	}
	if v < 0 {
		return -int64(lo), true
	}
	return int64(lo), true
}

func clamp32(v int64) int32 { return int32(min(max(v, math.MinInt32), math.MaxInt32)) }

// ResourceText formats a resource like Resource.toString in Java.
func ResourceText(r yarn.Resource, kinds yarn.Kinds) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<memory:%d, vCores:%d", r[yarn.Memory], r[yarn.VCores])
	for i := yarn.VCores + 1; i < min(len(kinds), yarn.MaxKinds); i++ {
		if r[i] != 0 {
			fmt.Fprintf(&b, ", %s: %d", kinds[i], r[i])
		}
	}
	return b.String() + ">"
}

// AboveMaximum returns YARN's text for an ask that exceeds the largest container that is allowed
// now, or "" if it does not. configured is the largest container of the cluster's configuration.
func AboveMaximum(size, allowed, configured yarn.Resource, kinds yarn.Kinds) string {
	for k := range min(len(kinds), yarn.MaxKinds) {
		if size[k] > allowed[k] {
			return fmt.Sprintf("Invalid resource request! Cannot allocate containers as requested resource is greater than maximum allowed allocation. "+
				"Requested resource type=[%s], Requested resource=%s, maximum allowed allocation=%s, please note that maximum allowed allocation is calculated "+
				"by scheduler based on maximum resource of registered NodeManagers, which might be less than configured maximum allocation=%s",
				kinds[k], ResourceText(size, kinds), ResourceText(allowed, kinds), ResourceText(configured, kinds))
		}
	}
	return ""
}
