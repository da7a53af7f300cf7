package digest

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
)

// recorded are exchanges between the JDK's own two ends, with messages of some lengths that each
// side then wrapped.
var recorded = []struct {
	protection       Protection
	challenge        string
	response, final  string
	client, server   []string // in the order in which they were sent
	lengths          []int
	plain            []byte // each message repeats its byte
	challengeCiphers string // what Java offers, and this package does not
}{
	{
		protection: Integrity,
		challenge:  `realm="default",nonce="Fr/OoyjY0w5gKzn74xo3gT6vuJGy48kL855TqSku",qop="auth-int",charset=utf-8,algorithm=md5-sess`,
		response:   `charset=utf-8,username="dGhlIGlkZW50aWZpZXI=",realm="default",nonce="Fr/OoyjY0w5gKzn74xo3gT6vuJGy48kL855TqSku",nc=00000001,cnonce="4HUBdGaeNxU3gknsuDCr1Ewie31DPzkFbrTYckho",digest-uri="/default",maxbuf=65536,response=05da992c293a616e788e9b038a1f8d36,qop=auth-int`,
		final:      "rspauth=b070f550e9e4e474c834a662aeec355f",
		lengths:    []int{1, 5, 6, 7, 8, 13, 14, 40},
		plain:      []byte("bfghinoo"),
		client: []string{
			"624d882ba5825e1ae8b61c000100000000",
			"666666666689d43c3c260a00676fa5000100000001",
			"676767676767bd5db88efce55f48ad89000100000002",
			"686868686868683c7e7857d2983de1fd90000100000003",
			"6969696969696969593e60ad6f420242b766000100000004",
			"6e6e6e6e6e6e6e6e6e6e6e6e6e717b5c33e71cd3c9211c000100000005",
			"6f6f6f6f6f6f6f6f6f6f6f6f6f6f6ce3f232b6ee7f33b668000100000006",
			"6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6fb593a9dc3d0217bf1bdd000100000007",
		},
		server: []string{
			"627af15fce22df414a6be1000100000000",
			"6666666666e149820e1ab4934b76e6000100000001",
			"67676767676778d0c7dc6543aa826286000100000002",
			"68686868686868164d3c4cec4fbfdc35b3000100000003",
			"696969696969696951d5bc6bb688fc0f0269000100000004",
			"6e6e6e6e6e6e6e6e6e6e6e6e6e56f254082802b0c43f88000100000005",
			"6f6f6f6f6f6f6f6f6f6f6f6f6f6f488c3d256b2557de0ad7000100000006",
			"6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f21b2db358779d3d183a9000100000007",
		},
	},
	{
		protection:       Privacy,
		challenge:        `realm="default",nonce="+c590LYqHLlEUPR/e1m/fmvdIbze49IMXqQCBOAZ",qop="auth-conf",charset=utf-8,cipher="3des,rc4,des,rc4-56,rc4-40",algorithm=md5-sess`,
		response:         `charset=utf-8,username="dGhlIGlkZW50aWZpZXI=",realm="default",nonce="+c590LYqHLlEUPR/e1m/fmvdIbze49IMXqQCBOAZ",nc=00000001,cnonce="TyI6xI0GYE8ZFNr/DUDKk6uP91KKVgcmgcsoJYU3",digest-uri="/default",maxbuf=65536,response=4b7ddda48a3e0099033654cde85b6f20,qop=auth-conf,cipher="3des"`,
		final:            "rspauth=99bf44c6fd56111afd160fd788f0528b",
		challengeCiphers: ",rc4,des,rc4-56,rc4-40",
		lengths:          []int{1, 5, 6, 7, 8, 13, 14, 40},
		plain:            []byte("bfghinoo"),
		client: []string{
			"7d2c68d2ccb60fc91f36016bcf80405d000100000000",
			"64de43dd505d26cbecf5a2e2531366a9000100000001",
			"5c5e216ad6e1fa7b067eee2c147d4e6f46cb16d7d4132548000100000002",
			"a28edb49ec4cc4d7238ee5f240e41ac9d3f20e1f5b80ae7c000100000003",
			"0c0363464d3c950f735a14c00c230b6572a064be72934de3000100000004",
			"f643de3b23215a7c28d841bf5acea416d8d687154686923d000100000005",
			"02dcbb840c7869ff053f291cfa08406d8f7e1bd1b901dacda91cb59c23620fe0000100000006",
			"a119968b933105a90ff91ebe62082e08a5a7ffea8639feba0cf4748240a81f374b27e39714a66c0a84988d2eb53305385a1d6f7cb204a088000100000007",
		},
		server: []string{
			"a9696cab92249c3e05fa66fb2a90689e000100000000",
			"961fd7aa6da5f363e6a201a902d8ac61000100000001",
			"91bbb70278536d1db2811a5eb20af566f646d8859a73f5ee000100000002",
			"8c8bfefeac5e5d52b98d70b5bd8dc84f35425e60717f3491000100000003",
			"d8e9dfdd59dce9b8a20ccb6ed6a84b907788fe7561601f31000100000004",
			"d4000c1804ea4133f82edba375b6a043372caf6115b59a65000100000005",
			"a12bfd3337edfc4168d8e3bacd19c0e2287cadd161f2409771a85ac131599fa5000100000006",
			"f5a4d1a0940397f48d0dba774823bdb2dda02791b3a6764febea77d48635094201e361407973ded220947213811d997c7da7c43373ab7659000100000007",
		},
	},
}

func part(s, key string) string {
	_, s, _ = strings.Cut(s, key+`="`)
	s, _, _ = strings.Cut(s, `"`)
	return s
}

const recordedPassword = "dHdlbnR5IGJ5dGVzIG9mIGhtYWM="

// TestLayerAgainstJava repeats both sides of the recorded exchanges.
func TestLayerAgainstJava(t *testing.T) {
	for _, r := range recorded {
		s := &Server{nonce: part(r.challenge, "nonce"), offer: r.protection}
		if got := string(s.Challenge()); got != strings.Replace(r.challenge, r.challengeCiphers, "", 1) {
			t.Errorf("the challenge is %s, Java's %s", got, r.challenge)
		}
		final, err := s.Evaluate([]byte(r.response), func(string) (string, error) { return recordedPassword, nil })
		if err != nil || string(final) != r.final {
			t.Fatalf("%s: %q, %v", r.protection, final, err)
		}
		c := NewClient(part(r.response, "username"), recordedPassword, Authentication|r.protection)
		c.cnonce = part(r.response, "cnonce")
		if answer, err := c.Answer([]byte(r.challenge)); err != nil || string(answer) != r.response {
			t.Fatalf("%s: the answer is %s, %v; Java's is %s", r.protection, answer, err, r.response)
		}
		if err := c.Verify(final); err != nil {
			t.Fatal(err)
		}
		client := c.Layer()
		for i, n := range r.lengths {
			text := bytes.Repeat(r.plain[i:i+1], n)
			exchange := func(from, to *Layer, want string) {
				t.Helper()
				w := from.Wrap(nil, text)
				if got := hex.EncodeToString(w); got != want {
					t.Errorf("%s, message %d: %s, Java's is %s", r.protection, i, got, want)
				}
				if got, err := to.Unwrap(w); err != nil || !bytes.Equal(got, text) {
					t.Errorf("%s, message %d: unwrapped to %q, %v", r.protection, i, got, err)
				}
			}
			exchange(client, s.layer, r.client[i])
			exchange(s.layer, client, r.server[i])
		}
	}
}

// pair returns both sides of an exchange.
func pair(t testing.TB, offer, takes Protection) (server, client *Layer, err error) {
	t.Helper()
	s, c := NewServer(offer), NewClient("u", "p", takes)
	answer, err := c.Answer(s.Challenge())
	if err != nil {
		return nil, nil, err
	}
	final, err := s.Evaluate(answer, func(string) (string, error) { return "p", nil })
	if err != nil {
		return nil, nil, err
	}
	return s.Layer(), c.Layer(), c.Verify(final)
}

func TestLayerChoice(t *testing.T) {
	for _, c := range []struct{ offer, takes, want Protection }{
		{Authentication, Authentication, Authentication},
		{Integrity, Authentication, 0},
		{Privacy, Authentication | Integrity, 0},
		{Authentication, Privacy, 0},
		{Authentication | Integrity | Privacy, Authentication, Authentication},
		{Authentication | Integrity | Privacy, Authentication | Integrity, Integrity},
		{Authentication | Integrity | Privacy, Authentication | Privacy, Privacy},
		{Authentication | Integrity, Authentication | Integrity | Privacy, Integrity},
	} {
		s, client, err := pair(t, c.offer, c.takes)
		got := Authentication
		switch {
		case err != nil:
			got = 0
		case s != nil && s.send.block != nil:
			got = Privacy
		case s != nil:
			got = Integrity
		}
		if got != c.want || (client != nil) != (got > Authentication) {
			t.Errorf("offer %q, takes %q: chose %q, %v", c.offer, c.takes, got, err)
		}
	}
}

// TestLayerNotAsked refuses an answer with a quality that was not offered.
func TestLayerNotAsked(t *testing.T) {
	s, c := NewServer(Privacy), NewClient("u", "p", Authentication)
	weak := NewServer(Authentication)
	weak.nonce = s.nonce
	answer, err := c.Answer(weak.Challenge())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Evaluate(answer, func(string) (string, error) { return "p", nil }); !errors.Is(err, ErrSyntax) {
		t.Errorf("a client without protection is taken: %v", err)
	}
}

func TestLayerRefuses(t *testing.T) {
	for _, p := range []Protection{Integrity, Privacy} {
		for n := range 40 {
			for i := range n + trailerSize {
				server, client, err := pair(t, p, p)
				if err != nil {
					t.Fatal(err)
				}
				w := client.Wrap(nil, bytes.Repeat([]byte{'x'}, n))
				w[i] ^= 1
				if got, err := server.Unwrap(w); err == nil {
					t.Fatalf("%s: byte %d of %d changed, and got %q", p, i, len(w), got)
				}
			}
		}
		server, client, err := pair(t, p, p)
		if err != nil {
			t.Fatal(err)
		}
		first, second := client.Wrap(nil, []byte("first")), client.Wrap(nil, []byte("second"))
		for i := range first {
			if _, err := server.Unwrap(first[:i:i]); err == nil {
				t.Errorf("%s: the first %d bytes are taken", p, i)
			}
			server, client, err = pair(t, p, p)
			if err != nil {
				t.Fatal(err)
			}
			first, second = client.Wrap(nil, []byte("first")), client.Wrap(nil, []byte("second"))
		}
		if _, err := server.Unwrap(second); err == nil {
			t.Errorf("%s: the second message is taken before the first", p)
		}
	}
}

func FuzzLayer(f *testing.F) {
	_, client, err := pair(f, Privacy, Privacy)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(client.Wrap(nil, []byte("text")))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, p := range []Protection{Integrity, Privacy} {
			server, _, err := pair(t, p, p)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := server.Unwrap(bytes.Clone(b)); err == nil {
				t.Errorf("%s: %x is unwrapped to %q", p, b, got)
			}
		}
	})
}
