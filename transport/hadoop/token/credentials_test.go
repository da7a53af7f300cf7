package token

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"reflect"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	gproto "google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"rmd/transport/hadoop/proto"
)

// goldenCredentials was written by Hadoop's Java class in the Writable format.
const goldenCredentials = "48445453 00 01 00 020a0b 020c0d 105941524e5f414d5f524d5f544f4b454e 00 01 016b 0109"

// goldenProtobuf has the same credentials in the protobuf format.
const goldenProtobuf = "48445453 01 2a 0a200a00121c0a020a0b12020c0d1a10 5941524e5f414d5f524d5f544f4b454e 2200 12060a016b1a0109"

var someCredentials = &Credentials{
	Tokens:  []Token{{Identifier: []byte{0x0a, 0x0b}, Password: []byte{0x0c, 0x0d}, Kind: KindAMRM}},
	Secrets: []Secret{{Alias: "k", Bytes: []byte{9}}},
}

func TestCredentialsAreThoseOfJava(t *testing.T) {
	want := unhex(t, goldenCredentials)
	if got := someCredentials.Bytes(); !bytes.Equal(got, want) {
		t.Errorf("written: %x\nwant     %x", got, want)
	}
	if got, err := ReadCredentials(want); err != nil || !reflect.DeepEqual(got, someCredentials) {
		t.Errorf("read: %+v, %v", got, err)
	}
}

func TestCredentialsProtobufForm(t *testing.T) {
	p := &proto.CredentialsProto{
		Tokens: []*proto.CredentialsKVProto{
			{Alias: new(""), Token: &proto.TokenProto{Identifier: []byte{1}, Password: []byte{2}, Kind: new("old"),
				Service: new("")}},
			{Alias: new(""), Token: &proto.TokenProto{Identifier: []byte{0x0a, 0x0b}, Password: []byte{0x0c, 0x0d},
				Kind: new(KindAMRM), Service: new("")}},
		},
		Secrets: []*proto.CredentialsKVProto{{Alias: new("k"), Secret: []byte{9}}},
	}
	body, err := gproto.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	data := protowire.AppendBytes([]byte("HDTS\x01"), body) // an alias occurs twice: the last entry counts
	if got, err := ReadCredentials(unhex(t, goldenProtobuf)); err != nil || !reflect.DeepEqual(got, someCredentials) {
		t.Errorf("Java's: %+v, %v", got, err)
	}
	if got, err := ReadCredentials(data); err != nil || !reflect.DeepEqual(got, someCredentials) {
		t.Errorf("ReadCredentials = %+v, %v, want %+v", got, err, someCredentials)
	}
}

func TestAddTokenReplacesAlias(t *testing.T) {
	c := &Credentials{Tokens: []Token{{Alias: "x", Kind: "one"}, {Alias: "", Kind: "old"}}}
	c.AddToken("", &proto.TokenProto{Identifier: []byte{1}, Kind: new("new"), Service: new("s")})
	c.AddToken("y", &proto.TokenProto{Kind: new("more")})
	var kinds []string
	for _, k := range c.Tokens {
		kinds = append(kinds, k.Kind)
	}
	if !reflect.DeepEqual(kinds, []string{"one", "new", "more"}) || c.Tokens[1].Service != "s" {
		t.Errorf("tokens = %+v, want the kinds one, new and more, with service s for the second", c.Tokens)
	}
}

func TestCredentialsRefused(t *testing.T) {
	good := unhex(t, goldenCredentials)
	for n := range good {
		if got, err := ReadCredentials(good[:n]); !errors.Is(err, ErrMalformed) {
			t.Errorf("%d bytes of them were taken: %+v, %v", n, got, err)
		}
	}
	for name, data := range map[string]string{
		"no heading":        "4844545300",
		"unknown form":      "4844545302",
		"other heading":     "48445455000000",
		"negative count":    "4844545300ff00",
		"count of 2^40":     "48445453008a010000000000",
		"negative length":   "48445453000190",
		"length of 2^62":    "484454530001884000000000000000",
		"protobuf cut":      "484454530105",
		"protobuf nonsense": "484454530102ffff",
	} {
		if got, err := ReadCredentials(unhex(t, data)); !errors.Is(err, ErrMalformed) {
			t.Errorf("ReadCredentials, %s = %+v, %v, want ErrMalformed", name, got, err)
		}
	}
	if _, err := ReadCredentials(make([]byte, MaxCredentials+1)); !errors.Is(err, ErrMalformed) {
		t.Errorf("too many bytes: %v", err)
	}
}

func TestVInts(t *testing.T) {
	for _, c := range []struct {
		v    int64
		want string
	}{
		{0, "00"}, {127, "7f"}, {-112, "90"}, {128, "8f80"}, {300, "8e012c"}, {255, "8fff"}, {256, "8e0100"}, {-113, "8770"},
		{-256, "87ff"}, {-257, "860100"}, {65536, "8d010000"}, {-65537, "85010000"},
		{math.MaxInt64, "887fffffffffffffff"}, {math.MinInt64, "807fffffffffffffff"},
	} {
		if got := hex.EncodeToString(appendVInt(nil, c.v)); got != c.want {
			t.Errorf("%d is written %s, want %s", c.v, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Int64().Draw(t, "v")
		got, rest, ok := readVInt(append(appendVInt(nil, v), 0xee))
		if !ok || got != v || len(rest) != 1 {
			t.Fatalf("%d reads back as %d, %x, %v", v, got, rest, ok)
		}
	})
	for _, bad := range []string{"", "8f", "8e01", "88ffffffffffffffff", "80ffffffffffffffff"} {
		if v, _, ok := readVInt(unhex(t, bad)); ok {
			t.Errorf("%s was taken for %d", bad, v)
		}
	}
}

func FuzzCredentials(f *testing.F) {
	f.Add(unhex(f, goldenCredentials))
	f.Add([]byte("HDTS\x01\x00"))
	f.Add([]byte("HDTS\x00\x8f\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ReadCredentials(data)
		if err != nil {
			return
		}
		again, err := ReadCredentials(c.Bytes())
		if err != nil || !bytes.Equal(again.Bytes(), c.Bytes()) {
			t.Fatalf("%+v reads back as %+v, %v", c, again, err)
		}
	})
}

func FuzzIdentifiers(f *testing.F) {
	for _, g := range goldenIdentifiers {
		f.Add(g.got)
	}
	f.Add(Delegation{Owner: "a", Sequence: 1}.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		if v, err := ParseAMRM(data); err == nil {
			if back, err := ParseAMRM(v.Bytes()); err != nil || back != v {
				t.Fatalf("%+v reads back as %+v, %v", v, back, err)
			}
		}
		if v, err := ParseNM(data); err == nil {
			if back, err := ParseNM(v.Bytes()); err != nil || back != v {
				t.Fatalf("%+v reads back as %+v, %v", v, back, err)
			}
		}
		if v, err := ParseDelegation(data); err == nil && len(v.Bytes()) > 0 {
			if back, err := ParseDelegation(v.Bytes()); err != nil || back != v {
				t.Fatalf("%+v reads back as %+v, %v", v, back, err)
			}
		}
		if v, err := ParseContainer(data, sample.Kinds); err == nil {
			if back, err := ParseContainer(v.Bytes(), sample.Kinds); err != nil || !bytes.Equal(back.Bytes(), v.Bytes()) {
				t.Fatalf("%+v reads back as %+v, %v", v, back, err)
			}
		}
	})
}
