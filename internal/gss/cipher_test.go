package gss

import (
	"bytes"
	"crypto/aes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/crypto/rfc3961"
	"github.com/jcmturner/gokrb5/v8/types"
)

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestCiphertextStealing has the vectors of RFC 3962, appendix B.
func TestCiphertextStealing(t *testing.T) {
	block, err := aes.NewCipher([]byte("chicken teriyaki"))
	if err != nil {
		t.Fatal(err)
	}
	text := "I would like the General Gau's Chicken, please, and wonton soup."
	for _, v := range []struct {
		n    int
		want string
	}{
		{17, "c6353568f2bf8cb4d8a580362da7ff7f97"},
		{31, "fc00783e0efdb2c1d445d4c8eff7ed2297687268d6ecccc0c07b25e25ecfe5"},
		{32, "39312523a78662d5be7fcbcc98ebf5a897687268d6ecccc0c07b25e25ecfe584"},
		{47, "97687268d6ecccc0c07b25e25ecfe584b3fffd940c16a18c1b5549d2f838029e39312523a78662d5be7fcbcc98ebf5"},
		{48, "97687268d6ecccc0c07b25e25ecfe5849dad8bbb96c4cdc03bc103e1a194bbd839312523a78662d5be7fcbcc98ebf5a8"},
		{64,
			"97687268d6ecccc0c07b25e25ecfe58439312523a78662d5be7fcbcc98ebf5a84807efe836ee89a526730dbc2f7bc8409dad8bbb96c4cdc03bc103e1a194bbd8"},
	} {
		b := []byte(text[:v.n])
		encryptCTS(block, b)
		if got := hex.EncodeToString(b); got != v.want {
			t.Errorf("%d bytes: got %s, want %s", v.n, got, v.want)
		}
		decryptCTS(block, b)
		if string(b) != text[:v.n] {
			t.Errorf("%d bytes: decrypted to %q", v.n, b)
		}
	}
}

// TestSHA2 has the vectors of RFC 8009, appendix A.
func TestSHA2(t *testing.T) {
	const usage = 2
	for _, e := range []struct {
		etype    int32
		key, sum string
		messages [][3]string // plaintext, confounder, ciphertext with code
	}{
		{19, "3705d96080c17728a0e800eab6e0d23c", "d78367186643d67b411cba9139fc1dee", [][3]string{
			{"", "7e5895eaf2672435bad817f545a37148", "ef85fb890bb8472f4dab20394dca781dad877eda39d50c870c0d5a0a8e48c718"},
			{"000102030405", "7bca285e2fd4130fb55b1a5c83bc5b24",
				"84d7f30754ed987bab0bf3506beb09cfb55402cef7e6877ce99e247e52d16ed4421dfdf8976c"},
			{"000102030405060708090a0b0c0d0e0f", "56ab21713ff62c0a1457200f6fa9948f",
				"3517d640f50ddc8ad3628722b3569d2ae07493fa8263254080ea65c1008e8fc295fb4852e7d83e1e7c48c37eebe6b0d3"},
			{"000102030405060708090a0b0c0d0e0f1011121314", "a7a4e29a4728ce10664fb64e49ad3fac",
				"720f73b18d9859cd6ccb4346115cd336c70f58edc0c4437c5573544c31c813bce1e6d072c186b39a413c2f92ca9b8334a287ffcbfc"},
		}},
		{20, "6d404d37faf79f9df0d33568d320669800eb4836472ea8a026d16b7182460c52",
			"45ee791567eefca37f4ac1e0222de80d43c3bfa06699672a", [][3]string{
				{"", "f764e9fa15c276478b2c7d0c4e5f58e4",
					"41f53fa5bfe7026d91faf9be959195a058707273a96a40f0a01960621ac612748b9bbfbe7eb4ce3c"},
				{"000102030405", "b80d3251c1f6471494256ffe712d0b9a",
					"4ed7b37c2bcac8f74f23c1cf07e62bc7b75fb3f637b9f559c7f664f69eab7b6092237526ea0d1f61cb20d69d10f2"},
				{"000102030405060708090a0b0c0d0e0f", "53bf8a0d105265d4e276428624ce5e63",
					"bc47ffec7998eb91e8115cf8d19dac4bbbe2e163e87dd37f49beca92027764f68cf51f14d798c2273f35df574d1f932e40c4ff255b36a266"},
				{"000102030405060708090a0b0c0d0e0f1011121314", "763e65367e864f02f55153c7e3b58af1",
					"40013e2df58e8751957d2878bcd2d6fe101ccfd556cb1eae79db3c3ee86429f2b2a602ac86fef6ecb647d6295fae077a1feb517508d2c16b4192e01f62"},
			}},
	} {
		c, err := newCrypt(types.EncryptionKey{KeyType: e.etype, KeyValue: unhex(t, e.key)}, usage)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range e.messages {
			got := c.encryptWith(nil, unhex(t, m[1]), unhex(t, m[0]))
			if hex.EncodeToString(got) != m[2] {
				t.Errorf("type %d, %q: got %x, want %s", e.etype, m[0], got, m[2])
			}
			if plain, err := c.decrypt(got); err != nil || hex.EncodeToString(plain) != m[0] {
				t.Errorf("type %d, %q: decrypted to %x, %v", e.etype, m[0], plain, err)
			}
		}
		text := unhex(t, "000102030405060708090a0b0c0d0e0f1011121314")
		if got := hex.EncodeToString(c.checksum(text[:5], text[5:])); got != e.sum {
			t.Errorf("type %d: checksum %s, want %s", e.etype, got, e.sum)
		}
	}
}

// TestFold compares n-fold with gokrb5's, whose own tests have the vectors of RFC 3961.
func TestFold(t *testing.T) {
	for _, in := range []string{"12345", "\x00\x00\x00\x16\xaa", "\x00\x00\x00\x18\x99", "Q", "\xff\xff\xff\xff\xff",
		"kerberos!"} {
		got := fold([]byte(in))
		if want := rfc3961.Nfold([]byte(in), 128); !bytes.Equal(got[:], want) {
			t.Errorf("%q: got %x, want %x", in, got, want)
		}
	}
}

// TestAgainstLibrary encrypts here and decrypts with gokrb5, and the other way round.
func TestAgainstLibrary(t *testing.T) {
	for etype := range profiles {
		key := newKey(etype)
		et, err := crypto.GetEtype(etype)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 50 {
			text := bytes.Repeat([]byte{byte(n)}, n)
			sealed, err := seal(key, 22, text)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := et.DecryptMessage(key.KeyValue, sealed, 22); err != nil || !bytes.Equal(got, text) {
				t.Fatalf("type %d, %d bytes: the library decrypts to %x, %v", etype, n, got, err)
			}
			_, sealed, err = et.EncryptMessage(key.KeyValue, text, 22)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := open(key, 22, sealed); err != nil || !bytes.Equal(got, text) {
				t.Fatalf("type %d, %d bytes: decrypted to %x, %v", etype, n, got, err)
			}
			for i := range sealed {
				sealed[i] ^= 1
				if _, err := open(key, 22, sealed); err == nil {
					t.Fatalf("type %d, %d bytes: a change of byte %d is not seen", etype, n, i)
				}
				sealed[i] ^= 1
			}
			for i := range len(sealed) {
				if _, err := open(key, 22, sealed[:i]); err == nil {
					t.Fatalf("type %d: the first %d of %d bytes are accepted", etype, i, len(sealed))
				}
			}
		}
	}
}
