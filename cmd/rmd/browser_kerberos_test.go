//go:build browser

package main

import (
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"rmd/internal/gss/gsstest"
)

// TestBrowserWithTicket opens the pages of a replica that demands Kerberos in browsers with and without
// a ticket of a real KDC. It needs MIT's KDC.
func TestBrowserWithTicket(t *testing.T) {
	kdc := gsstest.StartKDC(t)
	cache, none := kdc.Path("cache"), kdc.Path("no-cache")
	kdc.Run("kinit", "-c", cache, "-kt", kdc.Keytab("boss"), "boss")
	t.Setenv("KRB5_CONFIG", kdc.Path("krb5.conf"))
	c := startHadoop(t, 1, "", "hadoop.http.authentication.type", "kerberos",
		"yarn.resourcemanager.webapp.spnego-principal", "HTTP/localhost@TEST",
		"yarn.resourcemanager.webapp.spnego-keytab-file", kdc.Keytab("HTTP/localhost"), "yarn.admin.acl", "boss")
	_, port, err := net.SplitHostPort(c.all[0].http)
	if err != nil {
		t.Fatal(err)
	}
	site := "http://localhost:" + port // tickets are for names, not for addresses
	withCache := func(path string) *tab {
		return newTab(t, openBrowser(t, chromedp.Env("KRB5CCNAME=FILE:"+path),
			chromedp.Flag("auth-server-allowlist", "localhost,127.0.0.1")))
	}
	t.Run("without a ticket", func(t *testing.T) {
		b := withCache(none)
		for range 3 { // as in browserTries
			b.open(site + "/ui/queues")
			b.reads("Log in", "no Kerberos ticket", "kinit", "Access token")
			if s := b.text(); strings.Contains(s, "root.a") {
				t.Fatalf("a stranger sees the queues:\n%s", s)
			}
		}
	})
	t.Run("with a ticket", func(t *testing.T) {
		b := withCache(cache)
		b.open(site + "/ui/")
		browserTries(t, b)
		b.reads("boss, operator", "Waiting longest")
		b.open("http://127.0.0.1:" + port + "/ui/")
		b.reads("no Kerberos ticket", "not by its IP address")
		// From here on, the browser has only the cookie that it got for its ticket.
		kdc.Stop()
		if err := os.Remove(cache); err != nil {
			t.Fatal(err)
		}
		b.open(site + "/ui/queues/root.a")
		b.reads("boss, operator")
		b.fill(`input[name="set.maximum-capacity"]`, "64")
		b.click(`form[action="/ui/conf/stage"] button.primary`)
		b.reads("Staged change", "maximum-capacity", "64", "Valid")
		b.fill(`input[name="comment"]`, "tried with a ticket")
		b.click(`form[action="/ui/conf/apply"] button.primary`)
		b.reads("The new configuration is in force", "tried with a ticket")
		b.open(site + "/ui/queues/root.a")
		b.awaitTrue("the maximum has changed", `document.querySelector('input[name="set.maximum-capacity"]').value === "64"`)
		b.open(site + "/ui/audit")
		b.reads("boss", "tried with a ticket")
	})
}

// browserTries clicks on "Try again" until the page is another one. A new profile of Chromium on Linux
// refuses the first site that asks for a ticket: it loads the Kerberos library only after it knows
// that sites ask for tickets, and remembers that for the next time.
func browserTries(t *testing.T, b *tab) {
	t.Helper()
	tries := 1
	for end := time.Now().Add(patience); strings.Contains(b.text(), "Try again"); tries++ {
		if time.Now().After(end) {
			t.Fatalf("the browser does not show its ticket in %d tries:\n%s", tries, b.text())
		}
		b.click(`.ask a.button`)
		b.do("the page is there", chromedp.WaitVisible(chromedp.CSS("main h1")))
	}
	t.Logf("the page was shown at try %d", tries)
}
