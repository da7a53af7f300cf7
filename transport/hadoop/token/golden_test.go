package token

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	gproto "google.golang.org/protobuf/proto"

	"pgregory.net/rapid"

	"rmd/fsm/state"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

var (
	app7     = yarn.ApplicationID{ClusterTimestamp: 1700000000000, Seq: 7}
	attempt1 = yarn.AttemptID{App: app7, Attempt: 1}
	sample   = Container{
		ID: yarn.ContainerID{App: app7, Attempt: 1, Number: yarn.ContainerNumber(3, 1)}, Node: "localhost:45454",
		User: "alice",
		Size: yarn.NewResource(1024, 1), Kinds: yarn.DefaultKinds(), ExpiresMillis: 1700000600000, KeyID: 42,
		RMIdentifier: 1700000000000, CreatedMillis: 1700000000001, AM: true, AllocationID: -1,
	}
	withLogs = Container{
		ID: yarn.ContainerID{App: app7, Attempt: 1, Number: 5}, Node: "n1:8041", User: "alice",
		Size: yarn.NewResource(2048, 2), Kinds: yarn.DefaultKinds(), ExpiresMillis: 1700000600000, KeyID: -5,
		RMIdentifier: 1700000000000, Priority: 20, CreatedMillis: 1700000000001, AllocationID: 9,
		Logs: &proto.LogAggregationContextProto{IncludePattern: new("inc"), ExcludePattern: new("exc"),
			RolledLogsIncludePattern: new("rinc"),
			RolledLogsExcludePattern: new("rexc"), LogAggregationPolicyClassName: new("pol"),
			LogAggregationPolicyParameters: new("par")},
	}
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The Java classes of Hadoop 3.4.2 wrote the expected bytes.
var goldenIdentifiers = []struct {
	name, want string
	got        []byte
}{
	{"AMRM", "0a0d0a0908071080d095ffbc311001102a", AMRM{attempt1, 42}.Bytes()},
	{"AMRM with a negative key", "0a0d0a0908071080d095ffbc31100110adc4f8c2fdffffffff01",
		AMRM{attempt1, -664919507}.Bytes()},
	{"NM", "0a0d 0a0908071080d095ffbc311001 120f 0a096c6f63616c686f7374108ee302 1a05616c696365 202a",
		NM{attempt1, yarn.NodeID{Host: "localhost", Port: 45454}, "alice", 42}.Bytes()},
	{"ClientToAM", "0a0d0a0908071080d095ffbc311001 1205616c696365", ClientToAM{attempt1, "alice"}.Bytes()},
	{"ClientToAM of a principal", "0a0d0a0908071080d095ffbc311001 1211616c696365404558414d504c452e434f4d",
		ClientToAM{attempt1, "alice@EXAMPLE.COM"}.Bytes()},
	{"Container",
		"0a16 120d0a0908071080d095ffbc311001 18818080808060 120f 6c6f63616c686f73743a3435343534 1a05 616c696365" +
			"222b 08800810011a140a096d656d6f72792d6d621080081a024d6920001a0e0a0676636f72657310011a002000" +
			"28c09fbaffbc31 302a 3880d095ffbc31 42020800 4881d095ffbc31 5a00 6001 6801 7000 78ffffffffffffffffff01",
		sample.Bytes()},
	{"Container with wishes for its logs",
		"0a11120d0a0908071080d095ffbc311001180512076e313a383034311a05616c696365222b08801010021a140a096d656d6f72792d6d62" +
			"1080101a024d6920001a0e0a0676636f72657310021a00200028c09fbaffbc3130fbffffffffffffffff013880d095ffbc31420208144881d095ffbc31" +
			"52200a03696e6312036578631a0472696e632204726578632a03706f6c32037061725a006002680170007809", withLogs.Bytes()},
	{"Delegation", "0a05616c69636512047961726e2081d095ffbc312881d8c79fbf3130033802",
		Delegation{Owner: "alice", Renewer: "yarn", IssuedMillis: 1700000000001, MaxMillis: 1700604800001, Sequence: 3,
			KeyID: 2}.Bytes()},
	{"Delegation for another", "0a05616c69636512047961726e1a056f6f7a69652081d095ffbc312881d8c79fbf3130033802",
		Delegation{Owner: "alice", Renewer: "yarn", RealUser: "oozie", IssuedMillis: 1700000000001, MaxMillis: 1700604800001,
			Sequence: 3, KeyID: 2}.Bytes()},
}

func TestIdentifiersAreThoseOfJava(t *testing.T) {
	for _, c := range goldenIdentifiers {
		if want := unhex(t, c.want); string(c.got) != string(want) {
			t.Errorf("%s\n got %x\nwant %x", c.name, c.got, want)
		}
	}
}

func TestPasswordsAreThoseOfJava(t *testing.T) {
	for _, c := range []struct{ key, id, password, text string }{
		{"0102030405060708", "0a0d0a0908071080d095ffbc311001102a", "d292fa3ff0acd37b7f68942b01bcc440c695a1a2",
			"0pL6P/Cs03t/aJQrAbzEQMaVoaI="},
		{"4ba81d06f52e6ae7", "0a0d0a0908071080d095ffbc31100110adc4f8c2fdffffffff01",
			"a886923bdcbaba5af60a7077bd20d49ff02cadcb", "qIaSO9y6ulr2CnB3vSDUn/Asrcs="},
		{"0102030405060708", "0a0d0a0908071080d095ffbc3110011205616c696365", "3db032aaa6091231f89cafcff260286cda54584c",
			"PbAyqqYJEjH4nK/P8mAobNpUWEw="},
	} {
		got := Password(state.MasterKey{Bytes: unhex(t, c.key)}, unhex(t, c.id))
		if hex.EncodeToString(got) != c.password || base64.StdEncoding.EncodeToString(got) != c.text {
			t.Errorf("Password = %x, want %s and %s in base64", got, c.password, c.text)
		}
	}
}

func TestIdentifiersReadBack(t *testing.T) {
	if got, err := ParseAMRM(unhex(t, goldenIdentifiers[1].want)); err != nil || got != (AMRM{attempt1, -664919507}) {
		t.Errorf("ParseAMRM = %+v, %v, want %v with key -664919507", got, err, attempt1)
	}
	want := NM{attempt1, yarn.NodeID{Host: "localhost", Port: 45454}, "alice", 42}
	if got, err := ParseNM(unhex(t, goldenIdentifiers[2].want)); err != nil || got != want {
		t.Errorf("ParseNM = %+v, %v, want %+v", got, err, want)
	}
	c, err := ParseContainer(unhex(t, goldenIdentifiers[5].want), yarn.DefaultKinds())
	if err != nil || string(c.Bytes()) != string(sample.Bytes()) || !c.AM || c.ID != sample.ID || c.Size != sample.Size {
		t.Errorf("ParseContainer = %+v, %v, want the bytes, id and size of %+v, for an AM", c, err, sample)
	}
	d := Delegation{Owner: "alice", Renewer: "yarn", IssuedMillis: 5, MaxMillis: 9, Sequence: 3, KeyID: 2}
	if got, err := ParseDelegation(d.Bytes()); err != nil || got != d {
		t.Errorf("ParseDelegation = %+v, %v, want %+v", got, err, d)
	}
}

// TestBytesAreWhatProtobufWrites compares the hand-written identifiers with the generated messages,
// for random values.
func TestBytesAreWhatProtobufWrites(t *testing.T) {
	str := rapid.StringN(0, 12, -1)
	kinds := yarn.Kinds{yarn.MemoryName, yarn.VCoresName, yarn.GPUName}
	rapid.Check(t, func(t *rapid.T) {
		at := yarn.AttemptID{App: yarn.ApplicationID{ClusterTimestamp: rapid.Int64().Draw(t, "ts"),
			Seq: rapid.Uint32().Draw(t, "seq")}, Attempt: rapid.Uint32().Draw(t, "attempt")}
		key, user := rapid.Int32().Draw(t, "key"), str.Draw(t, "user")
		node := yarn.NodeID{Host: str.Draw(t, "host"), Port: rapid.Uint16().Draw(t, "port")}
		check(t, ClientToAM{at, user}.Bytes(), &proto.ClientToAMTokenIdentifierProto{AppAttemptId: wire.AttemptIDProto(at),
			ClientName: new(user)})
		check(t, AMRM{at, key}.Bytes(), &proto.AMRMTokenIdentifierProto{AppAttemptId: wire.AttemptIDProto(at),
			KeyId: new(key)})
		check(t, NM{at, node, user, key}.Bytes(),
			&proto.NMTokenIdentifierProto{AppAttemptId: wire.AttemptIDProto(at), NodeId: wire.NodeIDProto(node),
				AppSubmitter: new(user), KeyId: new(key)})
		c := Container{ID: yarn.ContainerID{App: at.App, Attempt: at.Attempt, Number: rapid.Uint64().Draw(t, "number")},
			Node: node.String(), User: user,
			Size: yarn.Resource{rapid.Int64().Draw(t, "mem"), rapid.Int64().Draw(t, "vcores"),
				rapid.Int64().Draw(t, "gpu")},
			Kinds:         kinds,
			ExpiresMillis: rapid.Int64().Draw(t, "expires"), KeyID: key, RMIdentifier: at.App.ClusterTimestamp,
			Priority:      rapid.Int32().Draw(t, "priority"),
			CreatedMillis: rapid.Int64().Draw(t, "created"), Label: str.Draw(t, "label"), AM: rapid.Bool().Draw(t, "am"),
			Version: rapid.Int32().Draw(t, "version"), AllocationID: rapid.Int64().Draw(t, "allocation")}
		if rapid.Bool().Draw(t, "logs") {
			c.Logs = &proto.LogAggregationContextProto{ExcludePattern: new(user), LogAggregationPolicyParameters: new("")}
		}
		typ := proto.ContainerTypeProto_TASK
		if c.AM {
			typ = proto.ContainerTypeProto_APPLICATION_MASTER
		}
		check(t, c.Bytes(), &proto.ContainerTokenIdentifierProto{ContainerId: wire.ContainerIDProto(c.ID),
			NmHostAddr: new(c.Node), AppSubmitter: new(user),
			Resource: wire.ResourceProto(c.Size, kinds), ExpiryTimeStamp: new(c.ExpiresMillis), MasterKeyId: new(key),
			RmIdentifier: new(c.RMIdentifier),
			Priority:     wire.PriorityProto(c.Priority), CreationTime: new(c.CreatedMillis), LogAggregationContext: c.Logs,
			NodeLabelExpression: new(c.Label),
			ContainerType:       typ.Enum(), ExecutionType: proto.ExecutionTypeProto_GUARANTEED.Enum(), Version: new(c.Version),
			AllocationRequestId: new(c.AllocationID)})
	})
}

func check(t *rapid.T, got []byte, p gproto.Message) {
	want, err := gproto.MarshalOptions{Deterministic: true}.Marshal(p)
	if err != nil || string(got) != string(want) {
		t.Fatalf("%T\n got %x\nwant %x, %v", p, got, want, err)
	}
}

// TestPasswordsOfOtherAlgorithms compares the passwords of a key with the test vectors of RFC 4231,
// case 2, which Java's Mac passes.
func TestPasswordsOfOtherAlgorithms(t *testing.T) {
	for algorithm, want := range map[yarn.HMAC]string{
		yarn.HMACSHA224: "a30e01098bc6dbbf45690f3a7e9e6d0f8bbea2a39e6148008fd05e44",
		yarn.HMACSHA256: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
		yarn.HMACSHA384: "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649",
		yarn.HMACSHA512: "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
	} {
		if got := hex.EncodeToString(Password(state.MasterKey{Bytes: []byte("Jefe"), Algorithm: algorithm},
			[]byte("what do ya want for nothing?"))); got != want {
			t.Errorf("%s: %s, want %s", algorithm, got, want)
		}
	}
}
