package input

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"rmd/internal/codec"
	"rmd/internal/codec/codectest"
	"rmd/yarn"
)

func kinds() []Kind {
	var out []Kind
	for k := Kind(0); k < 255; k++ {
		if New(k) != nil {
			out = append(out, k)
		}
	}
	return out
}

func sample(k Kind) Input {
	in := New(k)
	codectest.Distinct(in)
	return in
}

func sampleReply(in Input) Reply {
	r := in.NewReply()
	codectest.Distinct(r)
	return r
}

func TestInputKindTypes(t *testing.T) {
	if len(kinds()) != int(KindsEnd)-1 {
		t.Errorf("%d kinds, numbered up to %d", len(kinds()), KindsEnd-1)
	}
	for _, k := range kinds() {
		if got := New(k).Kind(); got != k {
			t.Errorf("kind %d makes a %d", k, got)
		}
	}
}

// TestSigns checks which inputs are a sign of life, and of whom, and which only replicas make.
func TestSigns(t *testing.T) {
	var signs, internal []string
	for _, k := range kinds() {
		in := sample(k)
		if s := SignOf(in); s.Node != (yarn.NodeID{}) || len(s.Slots) > 0 || s.Attempt != (yarn.AttemptID{}) {
			signs = append(signs, strings.TrimPrefix(reflect.TypeOf(in).String(), "*input."))
		}
		if Internal(in) {
			internal = append(internal, strings.TrimPrefix(reflect.TypeOf(in).String(), "*input."))
		}
	}
	if want := []string{"RegisterNode", "NodeHeartbeat", "RegisterAttempt", "Allocate", "FinishAttempt",
		"NodesHeard"}; !slices.Equal(signs, want) {
		t.Errorf("signs of life: %v, want %v", signs, want)
	}
	if want := []string{"Audit", "TokenRenewed", "TokenCallFailed", "TokenCancelled", "TokensFetched",
		"TokenFetchFailed"}; !slices.Equal(internal, want) {
		t.Errorf("internal inputs: %v, want %v", internal, want)
	}
	if New(KindsEnd) != nil || SignOf(&NodeHeartbeat{ID: yarn.NodeID{Host: "a"}}).Node.Host != "a" {
		t.Error("an unknown kind is made, or the node of a heartbeat is another one")
	}
}

// TestKindNumbersFixed checks that the kinds keep their numbers, because replicas of different
// versions exchange them.
func TestKindNumbersFixed(t *testing.T) {
	for k, want := range map[Kind]Kind{KindInitCluster: 1, KindTick: 2, KindSetQueues: 3, KindSetQueueState: 4,
		KindRegisterNode:  5,
		KindNodeHeartbeat: 6, KindExpireNode: 7, KindDrainNode: 8, KindSetNodeResource: 9, KindUnregisterNode: 10,
		KindSubmitApplication: 11, KindKillApplication: 12, KindMoveApplication: 13, KindSetPriority: 14,
		KindRegisterAttempt: 15,
		KindAllocate:        16, KindFinishAttempt: 17, KindExpireAttempt: 18, KindCancelReservation: 19,
		KindCreateJoinToken: 20,
		KindUseJoinToken:    21, KindRaiseLevel: 22, KindRaiseEpoch: 23, KindAudit: 24, KindRollbackQueues: 25,
		KindSetHosts:       37,
		KindSetAccessToken: 38, KindRevokeAccessToken: 39, KindSetAutopilot: 40, KindForgetNode: 41, KindSetLabels: 42,
		KindRemoveLabels: 43, KindLabelNodes: 44, KindDrainNodes: 45, KindPreemptionRound: 46, KindRemoveIdleQueues: 47,
		KindSetGang: 48, KindAdoptQueue: 49, KindManageQueues: 50, KindNodeSilence: 51} {
		if k != want {
			t.Errorf("%d was %d: append only", k, want)
		}
	}
}

func TestRequestsRoundTrip(t *testing.T) {
	for _, k := range kinds() {
		rapid.Check(t, func(t *rapid.T) {
			in := New(k)
			codectest.Random(t, in)
			want := Request{Key: rapid.String().Draw(t, "key"), BodyHash: rapid.Uint64().Draw(t, "hash"), Input: in,
				Caller: Caller{Who: rapid.String().Draw(t, "who"), From: rapid.String().Draw(t, "from")}}
			got, err := DecodeRequest(EncodeRequest(nil, want))
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%+v came back as %+v, %v", want, got, err)
			}
		})
	}
}

func TestRepliesRoundTrip(t *testing.T) {
	for _, k := range kinds() {
		rapid.Check(t, func(t *rapid.T) {
			in := New(k)
			want := in.NewReply()
			codectest.Random(t, want)
			got, err := DecodeReply(in, EncodeReply(nil, want))
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%+v came back as %+v, %v", want, got, err)
			}
		})
	}
}

// TestEveryFieldIsInTheBytes checks that a change of any single field changes the encoding.
func TestEveryFieldIsInTheBytes(t *testing.T) {
	check := func(whole []byte, v any, encode func() []byte) {
		f := reflect.ValueOf(v).Elem()
		for i := range f.NumField() {
			keep := reflect.New(f.Field(i).Type()).Elem()
			keep.Set(f.Field(i))
			f.Field(i).SetZero()
			if bytes.Equal(whole, encode()) {
				t.Errorf("%s.%s is not encoded", f.Type().Name(), f.Type().Field(i).Name)
			}
			f.Field(i).Set(keep)
		}
	}
	for _, k := range kinds() {
		in := sample(k)
		encode := func() []byte { return EncodeRequest(nil, Request{Input: in}) }
		check(encode(), in, encode)
		r := sampleReply(in)
		encode = func() []byte { return EncodeReply(nil, r) }
		check(encode(), r, encode)
	}
}

func TestEncodingAppends(t *testing.T) {
	r := Request{Input: &Tick{}}
	if got := EncodeRequest([]byte("x"), r); got[0] != 'x' || !bytes.Equal(got[1:], EncodeRequest(nil, r)) {
		t.Errorf("EncodeRequest to a buffer with \"x\" = %x, want x and the request", got)
	}
	if got := EncodeReply([]byte("x"), &Done{}); string(got) != "x\x00" {
		t.Errorf("EncodeReply to a buffer with \"x\" = %q, want \"x\\x00\"", got)
	}
}

func TestRefusals(t *testing.T) {
	good := EncodeRequest(nil, Request{Key: "c/1", BodyHash: 5, Input: sample(KindAllocate)})
	edit := func(at int, b byte) []byte {
		d := bytes.Clone(good)
		d[at] = b
		return d
	}
	for _, c := range []struct {
		name string
		data []byte
		want error
		says string
	}{
		{"empty", nil, codec.ErrTruncated, ""},
		{"later version", edit(0, Version+1), ErrVersion, "2, this replica speaks 1"},
		{"version 0", edit(0, 0), ErrVersion, ""},
		{"unknown kind", edit(1, 126), ErrKind, "126"},
		{"kind 0", edit(1, 0), ErrKind, ""},
		{"cut", good[:len(good)-1], codec.ErrTruncated, "input 16"},
		{"left over", append(bytes.Clone(good), 0), codec.ErrMalformed, "left over"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := DecodeRequest(c.data)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %v with %q", err, c.want, c.says)
			}
		})
	}
	for n := range good {
		if _, err := DecodeRequest(good[:n]); err == nil {
			t.Errorf("the first %d of %d bytes were taken", n, len(good))
		}
	}
	if _, err := DecodeReply(&Tick{}, []byte{0, 0}); !errors.Is(err, codec.ErrMalformed) {
		t.Errorf("a reply with bytes left over: %v", err)
	}
	if _, err := DecodeReply(&Tick{}, nil); !errors.Is(err, codec.ErrTruncated) {
		t.Errorf("an empty reply: %v", err)
	}
}

// earlier is a message, and later the same message with a field that a later version added.
type (
	earlier struct{ name string }
	later   struct {
		earlier
		added string
	}
)

func (m *earlier) code(c *codec.Coder) { c.String(&m.name) }

func (m *later) code(c *codec.Coder) {
	m.earlier.code(c)
	if further(c, m.added != "") {
		c.String(&m.added)
	}
}

// TestFieldOfALaterVersion checks that the two versions read each other's messages while the added
// field is empty, and that the later version reads its own.
func TestFieldOfALaterVersion(t *testing.T) {
	encode := func(code func(*codec.Coder)) []byte {
		c := codec.NewEncoder(nil)
		code(c)
		return c.Bytes()
	}
	read := func(data []byte, code func(*codec.Coder)) error {
		c := codec.NewDecoder(data)
		code(c)
		return c.Finish()
	}
	old, empty, full := earlier{"a"}, later{earlier{"a"}, ""}, later{earlier{"a"}, "b"}
	var gotOld earlier
	if err := read(encode(empty.code), gotOld.code); err != nil || gotOld != old {
		t.Errorf("the earlier version reads %+v, %v", gotOld, err)
	}
	var got later
	if err := read(encode(old.code), got.code); err != nil || got != empty {
		t.Errorf("the later version reads %+v, %v", got, err)
	}
	if err := read(encode(full.code), got.code); err != nil || got != full {
		t.Errorf("its own message is read as %+v, %v", got, err)
	}
	if err := read(encode(full.code), gotOld.code); !errors.Is(err, codec.ErrMalformed) {
		t.Errorf("the earlier version reads what it does not know: %v", err)
	}
}

func TestRefuseReplyType(t *testing.T) {
	for _, k := range kinds() {
		in := New(k)
		f := Refusef(NoSuchQueue, "name a leaf", "queue %s is not there", "root.a")
		r := Refuse(in, f)
		if reflect.TypeOf(r) != reflect.TypeOf(in.NewReply()) || r.Refused() != f {
			t.Errorf("kind %d: %T with %v", k, r, r.Refused())
		}
		back, err := DecodeReply(in, EncodeReply(nil, r))
		if err != nil || !reflect.DeepEqual(back.Refused(), f) {
			t.Errorf("kind %d: %v came back as %v, %v", k, f, back, err)
		}
		if in.NewReply().Refused() != nil {
			t.Errorf("kind %d: a fresh reply is refused", k)
		}
	}
	f := Refusef(NoSuchQueue, "name a leaf", "queue %s is not there", "root.a")
	if f.Error() != "NO_SUCH_QUEUE: queue root.a is not there; name a leaf" {
		t.Errorf("Error() = %q, want the code, the text and what to do", f.Error())
	}
}

// FuzzDecodeRequest checks that any bytes lead to a request or an error, and that every accepted
// request has only one encoding.
func FuzzDecodeRequest(f *testing.F) {
	for _, k := range kinds() {
		f.Add(EncodeRequest(nil, Request{Key: "c/1", BodyHash: 7, Input: sample(k)}))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := DecodeRequest(data)
		if err != nil {
			return
		}
		if again := EncodeRequest(nil, r); !bytes.Equal(again, data) {
			t.Fatalf("%x decodes and encodes as %x", data, again)
		}
	})
}

// FuzzDecodeReply checks the same for the replies of each kind.
func FuzzDecodeReply(f *testing.F) {
	for _, k := range kinds() {
		f.Add(uint8(k), EncodeReply(nil, sampleReply(sample(k))))
	}
	f.Fuzz(func(t *testing.T, k uint8, data []byte) {
		in := New(Kind(k))
		if in == nil {
			return
		}
		r, err := DecodeReply(in, data)
		if err != nil {
			return
		}
		if again := EncodeReply(nil, r); !bytes.Equal(again, data) {
			t.Fatalf("%x decodes and encodes as %x", data, again)
		}
	})
}
