package route

import (
	"strings"
	"testing"
)

// TestWrongTypes checks that the error for a value of the wrong type names the field and its type.
func TestWrongTypes(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":"x"}`:               `field "a" has a value of the wrong type: string; give a whole number from -2147483648 to 2147483647`,
		`{"a":2147483648}`:        `field "a" has a value of the wrong type: number 2147483648; give a whole number from -2147483648 to 2147483647`,
		`{"b":-1}`:                `field "b" has a value of the wrong type: number -1; give a whole number from 0 to 18446744073709551615`,
		`{"c":1}`:                 `field "c" has a value of the wrong type: number; give true or false`,
		`{"d":{}}`:                `field "d" has a value of the wrong type: object; give an array`,
		`{"d":[1]}`:               `field "d" has a value of the wrong type: number; give a string`,
		`{"e":[]}`:                `field "e" has a value of the wrong type: array; give an object`,
		`{"e":{"f":true}}`:        `field "e.f" has a value of the wrong type: bool; give a number`,
		`{"g":[]}`:                `field "g" has a value of the wrong type: array; give an object`,
		`{"a":1,"d":[],"c":true}`: "",
	} {
		var v struct {
			A int32    `json:"a"`
			B uint64   `json:"b"`
			C bool     `json:"c"`
			D []string `json:"d"`
			E struct {
				F float64 `json:"f"`
			} `json:"e"`
			G map[string]int `json:"g"`
		}
		err := decodeStrict([]byte(text), &v)
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("decodeStrict(%s) = %v, want an error with %q (empty: none)", text, err, want)
		}
	}
}
