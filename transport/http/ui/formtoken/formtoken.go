// Package formtoken gives each browser a token that the forms of the pages must contain, so that no
// other site can send a form in the name of its user.
package formtoken

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"net/http"

	"rmd/api"
)

// cookie is the name of the cookie with a browser's token. Another site cannot read it, nor make
// the browser send it (SameSite). Therefore another site cannot put the token into a form.
const cookie = "rmd_token"

const tokenBytes = 16

// Of returns the browser's token, which every form must contain. It gives a new token to a
// browser that has none.
func Of(w http.ResponseWriter, r *http.Request) string {
	if have := tokenOf(r); have != "" {
		return have
	}
	t := Draw()
	http.SetCookie(w, &http.Cookie{Name: cookie, Value: t, Path: "/ui/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil})
	return t
}

// Draw returns a token that nobody can guess.
func Draw() string {
	var b [tokenBytes]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

func tokenOf(r *http.Request) string {
	c, err := r.Cookie(cookie)
	if err != nil || len(c.Value) != 2*tokenBytes {
		return ""
	}
	if _, err := hex.DecodeString(c.Value); err != nil {
		return ""
	}
	return c.Value
}

// Check refuses a form that was not made for this browser.
func Check(r *http.Request) error {
	have, sent := tokenOf(r), r.PostFormValue("token")
	if have == "" || subtle.ConstantTimeCompare([]byte(have), []byte(sent)) != 1 {
		return &api.Error{Code: api.CodeNotAllowed, Message: "this form was not made for your browser, or is too old",
			Status: http.StatusForbidden,
			Remedy: "open the page again and repeat the action; cookies must be allowed for this site"}
	}
	return nil
}
