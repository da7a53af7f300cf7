package wire

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"rmd/transport/hadoop/proto"
	"rmd/yarn"
)

func TestIDsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		app := yarn.ApplicationID{ClusterTimestamp: rapid.Int64Min(0).Draw(t, "ts"),
			Seq: rapid.Uint32Max(math.MaxInt32).Draw(t, "seq")}
		at := yarn.AttemptID{App: app, Attempt: rapid.Uint32Max(math.MaxInt32).Draw(t, "attempt")}
		c := yarn.ContainerID{App: app, Attempt: at.Attempt, Number: rapid.Uint64Max(math.MaxInt64).Draw(t, "number")}
		n := yarn.NodeID{Host: rapid.StringMatching(`[a-zA-Z0-9._ö]{1,20}`).Draw(t, "host"),
			Port: rapid.Uint16().Draw(t, "port")}
		if got, err := AttemptID(AttemptIDProto(at)); err != nil || got != at {
			t.Fatalf("%v reads back as %v, %v", at, got, err)
		}
		if got, err := ContainerID(ContainerIDProto(c)); err != nil || got != c {
			t.Fatalf("%v reads back as %v, %v", c, got, err)
		}
		if got, err := NodeID(NodeIDProto(n)); err != nil || got != n {
			t.Fatalf("%v reads back as %v, %v", n, got, err)
		}
	})
}

func TestIDsRefused(t *testing.T) {
	app := &proto.ApplicationIdProto{Id: new(int32(7)), ClusterTimestamp: new(int64(1))}
	at := &proto.ApplicationAttemptIdProto{ApplicationId: app, AttemptId: new(int32(1))}
	for _, c := range []struct {
		name string
		err  func() error
	}{
		{"no application", func() error { _, err := ApplicationID(nil); return err }},
		{"no number", func() error {
			_, err := ApplicationID(&proto.ApplicationIdProto{ClusterTimestamp: new(int64(1))})
			return err
		}},
		{"no timestamp", func() error { _, err := ApplicationID(&proto.ApplicationIdProto{Id: new(int32(1))}); return err }},
		{"negative number", func() error {
			_, err := ApplicationID(&proto.ApplicationIdProto{Id: new(int32(-1)), ClusterTimestamp: new(int64(1))})
			return err
		}},
		{"negative timestamp", func() error {
			_, err := ApplicationID(&proto.ApplicationIdProto{Id: new(int32(1)), ClusterTimestamp: new(int64(-1))})
			return err
		}},
		{"no attempt", func() error { _, err := AttemptID(nil); return err }},
		{"attempt of none", func() error {
			_, err := AttemptID(&proto.ApplicationAttemptIdProto{AttemptId: new(int32(1))})
			return err
		}},
		{"no attempt number", func() error {
			_, err := AttemptID(&proto.ApplicationAttemptIdProto{ApplicationId: app})
			return err
		}},
		{"the dummy attempt", func() error {
			_, err := AttemptID(&proto.ApplicationAttemptIdProto{ApplicationId: app, AttemptId: new(int32(-1))})
			return err
		}},
		{"no container", func() error { _, err := ContainerID(nil); return err }},
		{"container by the old field", func() error {
			_, err := ContainerID(&proto.ContainerIdProto{AppId: app, Id: new(int64(1))})
			return err
		}},
		{"no container number", func() error {
			_, err := ContainerID(&proto.ContainerIdProto{AppAttemptId: at})
			return err
		}},
		{"negative container", func() error {
			_, err := ContainerID(&proto.ContainerIdProto{AppAttemptId: at, Id: new(int64(-1))})
			return err
		}},
		{"one bad of many", func() error {
			_, err := ApplicationIDs([]*proto.ApplicationIdProto{app, nil})
			return err
		}},
		{"no node", func() error { _, err := NodeID(nil); return err }},
		{"node without a host", func() error { _, err := NodeID(&proto.NodeIdProto{Port: new(int32(1))}); return err }},
		{"node without a port", func() error { _, err := NodeID(&proto.NodeIdProto{Host: new("h")}); return err }},
		{"port too large", func() error {
			_, err := NodeID(&proto.NodeIdProto{Host: new("h"), Port: new(int32(65536))})
			return err
		}},
		{"port negative", func() error {
			_, err := NodeID(&proto.NodeIdProto{Host: new("h"), Port: new(int32(-1))})
			return err
		}},
	} {
		if err := c.err(); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", c.name, err)
		}
	}
	if got, err := ApplicationIDs(nil); got != nil || err != nil {
		t.Errorf("an empty list reads as %v, %v", got, err)
	}
}
