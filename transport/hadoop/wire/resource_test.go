package wire

import (
	"encoding/hex"
	"errors"
	"math"
	"testing"

	gproto "google.golang.org/protobuf/proto"

	"rmd/transport/hadoop/proto"
	"rmd/yarn"
)

var kinds = yarn.Kinds{yarn.MemoryName, yarn.VCoresName, yarn.GPUName}

// TestResourceIsWrittenAsJavaDoes compares the bytes of a resource with those in a container token
// of the Java classes.
func TestResourceIsWrittenAsJavaDoes(t *testing.T) {
	data, err := gproto.MarshalOptions{Deterministic: true}.Marshal(
		ResourceProto(yarn.NewResource(1024, 1), yarn.DefaultKinds()))
	const want = "08800810011a140a096d656d6f72792d6d621080081a024d6920001a0e0a0676636f72657310011a002000"
	if err != nil || hex.EncodeToString(data) != want {
		t.Errorf("%x, %v\nwant %s", data, err, want)
	}
}

func TestResourceRoundTrips(t *testing.T) {
	r := yarn.Resource{4096, 3, 2}
	if got, err := Resource(ResourceProto(r, kinds), kinds); err != nil || got != r {
		t.Errorf("%v reads back as %v, %v", r, got, err)
	}
	if got, err := Resource(nil, kinds); err != nil || !got.IsZero() {
		t.Errorf("nothing reads as %v, %v", got, err)
	}
	if got := ResourceProto(yarn.Resource{1, 1 << 40}, nil).GetVirtualCores(); got != math.MaxInt32 {
		t.Errorf("vcores beyond 32 bits are told as %d", got)
	}
}

func TestResourceReading(t *testing.T) {
	entry := func(key string, value int64, units string) *proto.ResourceInformationProto {
		return &proto.ResourceInformationProto{Key: new(key), Value: new(value), Units: new(units)}
	}
	for _, c := range []struct {
		name  string
		entry *proto.ResourceInformationProto
		want  int64 // of yarn.GPUName
		bad   bool
	}{
		{name: "plain", entry: entry(yarn.GPUName, 4, ""), want: 4},
		{name: "thousands", entry: entry(yarn.GPUName, 4, "k"), want: 4000},
		{name: "binary", entry: entry(yarn.GPUName, -2, "Ki"), want: -2048},
		{name: "parts are cut off", entry: entry(yarn.GPUName, 2999, "m"), want: 2},
		{name: "unknown kind", entry: entry("example.com/fpga", 9, ""), want: 0},
		{name: "memory in the map does not count", entry: entry(yarn.MemoryName, 9, "Gi"), want: 0},
		{name: "unknown unit", entry: entry(yarn.GPUName, 1, "dozen"), bad: true},
		{name: "overflow", entry: entry(yarn.GPUName, 1<<14, "Pi"), bad: true},
		{name: "least number", entry: entry(yarn.GPUName, math.MinInt64, "k"), bad: true},
	} {
		p := &proto.ResourceProto{Memory: new(int64(5)), VirtualCores: new(int32(6)),
			ResourceValueMap: []*proto.ResourceInformationProto{c.entry}}
		got, err := Resource(p, kinds)
		if c.bad {
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("Resource, %s = %v, %v, want ErrInvalid", c.name, got, err)
			}
			continue
		}
		if want := (yarn.Resource{5, 6, c.want}); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", c.name, got, err, want)
		}
	}
	infos := ResourceTypeInfos(kinds)
	if len(infos) != 3 || infos[0].GetUnits() != "Mi" || infos[1].GetName() != "vcores" ||
		infos[2].GetName() != yarn.GPUName {
		t.Errorf("kinds are told as %v", infos)
	}
}
