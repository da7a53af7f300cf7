package client

import (
	"fmt"
	"net/http"
	"testing"
)

// TestTokenHeaderSent checks that every request has the token, and no header if there is no token.
func TestTokenHeaderSent(t *testing.T) {
	var got []string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		fmt.Fprint(w, "{}")
	})
	for _, token := range []string{"", "rmd_secret"} {
		c := client(t, func(c *Config) { c.Token = token }, url)
		if _, err := c.Get(t.Context(), "/v1/apps", nil); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Post(t.Context(), "/v1/x", nil); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"", "", "Bearer rmd_secret", "Bearer rmd_secret"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("Authorization headers %q, want %q", got, want)
	}
}
