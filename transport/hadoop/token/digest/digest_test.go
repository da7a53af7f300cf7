package digest

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
)

// vector is an exchange that was recorded between two Java programs.
type vector struct {
	name                                     string
	id, pw                                   string // in hex
	user, password, nonce, cnonce            string
	response, rspauth, secret, client, offer string
}

var vectors = []vector{
	{
		name: "A, of the JDK's own two ends",
		id:   "0a0d0a0908071080d095ffbc311001102a", pw: "d292fa3ff0acd37b7f68942b01bcc440c695a1a2",
		user: "Cg0KCQgHEIDQlf+8MRABECo=", password: "0pL6P/Cs03t/aJQrAbzEQMaVoaI=",
		nonce: "7evwk4W704pzWjrHJeV+QmGD60oFEORbghnkqHGR", cnonce: "QR8n+PVhIYU0pFhPtTfScjYuaTXos3nrdyl5QEi0",
		response: "3027668e241fcb80c3988aeb37d9cabf", rspauth: "43c441b78e7cd1bd425fd257ef5b8738",
		secret: "98018d1684b5529226d7da7ea7812315",
		client: `charset=utf-8,username="Cg0KCQgHEIDQlf+8MRABECo=",realm="default",nonce="7evwk4W704pzWjrHJeV+QmGD60oFEORbghnkqHGR",nc=00000001,cnonce="QR8n+PVhIYU0pFhPtTfScjYuaTXos3nrdyl5QEi0",digest-uri="/default",maxbuf=65536,response=3027668e241fcb80c3988aeb37d9cabf,qop=auth`,
		offer:  `realm="default",nonce="7evwk4W704pzWjrHJeV+QmGD60oFEORbghnkqHGR",qop="auth",charset=utf-8,algorithm=md5-sess`,
	},
	{
		name: "B, captured at a ResourceManager",
		id:   "0a0d0a0908071080d095ffbc31100110adc4f8c2fdffffffff01", pw: "a886923bdcbaba5af60a7077bd20d49ff02cadcb",
		user: "Cg0KCQgHEIDQlf+8MRABEK3E+ML9/////wE=", password: "qIaSO9y6ulr2CnB3vSDUn/Asrcs=",
		nonce: "p4ZWdDkFifnAHeRdHkaCXTUN5gdZHqiDv0bUP9Fu", cnonce: "VN4dFze6Kb7FTJWZMTurbmD6DDUbI2gRnJ1Xizu2",
		response: "6e9e63b5ccb8cf0e45535a8d9daa3765", rspauth: "72a6018e1d0656ded420f58c7e4866d5",
	},
}

func (v vector) know(user string) (string, error) {
	if user != v.user {
		return "", errors.New("unknown user " + user)
	}
	return v.password, nil
}

func TestVectors(t *testing.T) {
	for _, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			id, _ := hex.DecodeString(v.id)
			pw, _ := hex.DecodeString(v.pw)
			if base64.StdEncoding.EncodeToString(id) != v.user || base64.StdEncoding.EncodeToString(pw) != v.password {
				t.Fatal("the vector contradicts itself")
			}
			s := &Server{nonce: v.nonce, offer: Authentication}
			c := NewClient(v.user, v.password, Authentication)
			c.cnonce = v.cnonce
			challenge := s.Challenge()
			if v.offer != "" && string(challenge) != v.offer {
				t.Errorf("challenge %s, want %s", challenge, v.offer)
			}
			answer, err := c.Answer(challenge)
			if err != nil {
				t.Fatal(err)
			}
			if v.client != "" && string(answer) != v.client {
				t.Errorf("answer %s, want %s", answer, v.client)
			}
			if !strings.Contains(string(answer), "response="+v.response+",") {
				t.Errorf("answer %s, want response %s", answer, v.response)
			}
			if v.secret != "" && hex.EncodeToString(c.secret()) != v.secret {
				t.Errorf("HA1 %x, want %s", c.secret(), v.secret)
			}
			final, err := s.Evaluate(answer, v.know)
			if err != nil {
				t.Fatal(err)
			}
			if string(final) != "rspauth="+v.rspauth {
				t.Errorf("final %s, want %s", final, v.rspauth)
			}
			if err := c.Verify(final); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAnswersThatAreRefused(t *testing.T) {
	v := vectors[0]
	swap := func(old, new string) string {
		if !strings.Contains(v.client, old) {
			t.Fatalf("no %q in the vector", old)
		}
		return strings.Replace(v.client, old, new, 1)
	}
	for name, c := range map[string]struct {
		answer string
		want   error
	}{
		"wrong digest":        {swap("response=30", "response=31"), ErrMismatch},
		"digest in capitals":  {swap("response=3027668e", "response=3027668E"), ErrMismatch},
		"digest cut":          {swap("3027668e241fcb80c3988aeb37d9cabf", "3027"), ErrSyntax},
		"other cnonce":        {swap(`cnonce="QR8n`, `cnonce="QR8m`), ErrMismatch},
		"other nonce":         {swap(`nonce="7evw`, `nonce="8evw`), ErrNonce},
		"second use":          {swap("nc=00000001", "nc=00000002"), ErrSyntax},
		"other realm":         {swap(`realm="default"`, `realm="other"`), ErrSyntax},
		"other uri":           {swap(`uri="/default"`, `uri="/elsewhere"`), ErrSyntax},
		"other qop":           {swap("qop=auth", "qop=auth-conf"), ErrSyntax},
		"other charset":       {swap("charset=utf-8", "charset=koi8-r"), ErrSyntax},
		"acts for another":    {v.client + `,authzid="root"`, ErrSyntax},
		"user given twice":    {v.client + `,username="root"`, ErrSyntax},
		"response twice":      {v.client + `,response=3027668e241fcb80c3988aeb37d9cabf`, ErrSyntax},
		"no user":             {swap(`username="Cg0KCQgHEIDQlf+8MRABECo=",`, ""), ErrSyntax},
		"no nonce":            {swap(`nonce="7evwk4W704pzWjrHJeV+QmGD60oFEORbghnkqHGR",`, ""), ErrSyntax},
		"no cnonce":           {swap(`cnonce="QR8n+PVhIYU0pFhPtTfScjYuaTXos3nrdyl5QEi0",`, ""), ErrSyntax},
		"no nc":               {swap("nc=00000001,", ""), ErrSyntax},
		"no response":         {swap(",response=3027668e241fcb80c3988aeb37d9cabf", ""), ErrSyntax},
		"open quote":          {`username="abc`, ErrSyntax},
		"open escape":         {`username="abc\`, ErrSyntax},
		"no value":            {"username=,realm=x", ErrSyntax},
		"no key":              {"=x", ErrSyntax},
		"no comma":            {`realm="default" nonce="x"`, ErrSyntax},
		"empty":               {"", ErrSyntax},
		"much too long":       {`username="` + strings.Repeat("a", 1<<20) + `"`, ErrSyntax},
		"bytes of no meaning": {"\x00\xff\x13", ErrSyntax},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Server{nonce: v.nonce, offer: Authentication}
			if final, err := s.Evaluate([]byte(c.answer), v.know); !errors.Is(err, c.want) {
				t.Errorf("got %q and %v, want %v", final, err, c.want)
			}
		})
	}
}

func TestResponseVariantsAccepted(t *testing.T) {
	v := vectors[0]
	for name, answer := range map[string]string{
		"another order": `qop=auth, response=3027668e241fcb80c3988aeb37d9cabf ,nc=00000001,realm="default",nonce="` +
			v.nonce + `",cnonce="` + v.cnonce + `",username="` + v.user + `",digest-uri="/default"`,
		"no qop":            strings.Replace(v.client, ",qop=auth", "", 1),
		"unknown directive": v.client + `,maxssf=0,extra="x,y=\"z"`,
		"escapes":           strings.Replace(v.client, `username="Cg0`, `username="\C\g0`, 1),
		"capitals":          strings.Replace(v.client, "username=", "UserName=", 1),
	} {
		t.Run(name, func(t *testing.T) {
			s := &Server{nonce: v.nonce, offer: Authentication}
			if final, err := s.Evaluate([]byte(answer), v.know); err != nil || string(final) != "rspauth="+v.rspauth {
				t.Errorf("got %q and %v", final, err)
			}
		})
	}
}

func TestChallengeTakesOneAnswer(t *testing.T) {
	v := vectors[0]
	s := &Server{nonce: v.nonce, offer: Authentication}
	if _, err := s.Evaluate([]byte(v.client), v.know); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Evaluate([]byte(v.client), v.know); !errors.Is(err, ErrUsed) {
		t.Errorf("the second time: %v", err)
	}
	if _, err := NewServer(Authentication).Evaluate([]byte(v.client), v.know); !errors.Is(err, ErrNonce) {
		t.Errorf("at another server: %v", err)
	}
	wrong := &Server{nonce: v.nonce, offer: Authentication}
	if _, err := wrong.Evaluate([]byte("x=y"), v.know); !errors.Is(err, ErrSyntax) {
		t.Errorf("garbage: %v", err)
	}
	if _, err := wrong.Evaluate([]byte(v.client), v.know); !errors.Is(err, ErrUsed) {
		t.Errorf("after garbage: %v", err)
	}
}

func TestPasswordErrorIsReturned(t *testing.T) {
	v, unknown := vectors[0], errors.New("no such token")
	s := &Server{nonce: v.nonce, offer: Authentication}
	if _, err := s.Evaluate([]byte(v.client), func(string) (string, error) { return "", unknown }); err != unknown {
		t.Errorf("got %v", err)
	}
}

func TestClientRefuses(t *testing.T) {
	v := vectors[0]
	for name, challenge := range map[string]string{
		"no nonce":        `realm="default",qop="auth",algorithm=md5-sess`,
		"two nonces":      `nonce="a",nonce="b",algorithm=md5-sess`,
		"other algorithm": `nonce="a",algorithm=md5`,
		"no algorithm":    `nonce="a"`,
		"privacy only":    `nonce="a",qop="auth-int,auth-conf",algorithm=md5-sess`,
		"garbage":         `"`,
	} {
		if answer, err := NewClient("u", "p", Authentication).Answer([]byte(challenge)); !errors.Is(err, ErrSyntax) {
			t.Errorf("Answer, %s = %q, %v, want ErrSyntax", name, answer, err)
		}
	}
	c := NewClient(v.user, v.password, Authentication)
	if err := c.Verify([]byte("rspauth=" + v.rspauth)); !errors.Is(err, ErrSyntax) {
		t.Errorf("a proof before the challenge: %v", err)
	}
	c.cnonce = v.cnonce
	if _, err := c.Answer([]byte(v.offer)); err != nil {
		t.Fatal(err)
	}
	for _, final := range []string{"", "rspauth=", "rspauth=" + strings.Repeat("0", 32), "other=" + v.rspauth} {
		if err := c.Verify([]byte(final)); err == nil {
			t.Errorf("proof %q was taken", final)
		}
	}
	if _, err := c.Answer([]byte(v.offer)); !errors.Is(err, ErrUsed) {
		t.Errorf("a second answer: %v", err)
	}
}

func TestLatin1Encoding(t *testing.T) {
	for in, want := range map[string]string{"abc": "abc", "é": "\xe9", "é€": "é€", "\xff": "\xff", "a\uFFFD": "a\uFFFD"} {
		if got := latin(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestQuotedNamesSurvive(t *testing.T) {
	user, password := `a"b\c,d=e`, "gehört geheim €"
	s, c := NewServer(Authentication), NewClient(user, password, Authentication)
	answer, err := c.Answer(s.Challenge())
	if err != nil {
		t.Fatal(err)
	}
	final, err := s.Evaluate(answer, func(u string) (string, error) {
		if u != user {
			t.Errorf("user %q", u)
		}
		return password, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Verify(final); err != nil {
		t.Error(err)
	}
}

func FuzzEvaluate(f *testing.F) {
	for _, v := range vectors {
		f.Add([]byte(v.client))
		f.Add([]byte(v.offer))
	}
	f.Add([]byte(`a="\"",b=c`))
	f.Fuzz(func(t *testing.T, b []byte) {
		v := vectors[0]
		s := &Server{nonce: v.nonce, offer: Authentication}
		final, err := s.Evaluate(b, v.know)
		if err == nil && !bytes.HasPrefix(final, []byte("rspauth=")) {
			t.Errorf("no error and no proof: %q", final)
		}
		c := NewClient("u", "p", Authentication)
		if answer, err := c.Answer(b); err == nil {
			if _, err := parseResponse(answer, Authentication); err != nil && c.realm == realm {
				t.Errorf("own answer %q is not readable: %v", answer, err)
			}
		}
	})
}

func BenchmarkExchange(b *testing.B) {
	v := vectors[0]
	b.ReportAllocs()
	for b.Loop() {
		s, c := NewServer(Authentication), NewClient(v.user, v.password, Authentication)
		answer, _ := c.Answer(s.Challenge())
		if _, err := s.Evaluate(answer, v.know); err != nil {
			b.Fatal(err)
		}
	}
}
