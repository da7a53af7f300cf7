package hadoop

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"rmd/internal/gss"
	"rmd/internal/hadoopconf"
	"rmd/internal/principal"
	ports "rmd/transport/hadoop"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/token"
	"rmd/transport/http/auth"
)

// The keys of logins over HTTP.
const (
	webType       = "hadoop.http.authentication.type"
	webPrincipal  = "hadoop.http.authentication.kerberos.principal"
	webKeytab     = "hadoop.http.authentication.kerberos.keytab"
	webOpen       = "hadoop.http.authentication.kerberos.endpoint.whitelist"
	webSecret     = "hadoop.http.authentication.signature.secret.file"
	webValidity   = "hadoop.http.authentication.token.validity"
	webDomain     = "hadoop.http.authentication.cookie.domain"
	webPersistent = "hadoop.http.authentication.cookie.persistent"
	rmPrincipal   = "yarn.resourcemanager.webapp.spnego-principal"
	rmKeytab      = "yarn.resourcemanager.webapp.spnego-keytab-file"
)

const (
	webValidityDefault = 36000   // seconds
	webSecretMax       = 1 << 16 // bytes of the file
)

// WebLogin returns how callers with Kerberos are identified over HTTP, or nil if
// hadoop.http.authentication.type does not ask for it.
func (f *Services) WebLogin() (*auth.Kerberos, error) {
	conf := f.conf
	if conf.Value(webType, "simple") != "kerberos" {
		return nil, nil
	}
	name, keytab, err := webService(conf, f.cfg.Settings.ID)
	if err != nil {
		return nil, err
	}
	if _, _, err := f.access.ShortName("rmd"); err != nil {
		return nil, err
	}
	log := f.logger("weblogin")
	acceptor, err := ports.OpenAcceptor(name, keytab, func(err error) {
		log.Warn("the keytab has changed and cannot be read; the old keys stay in force", "keytab", keytab, "error", err)
	})
	if err != nil {
		return nil, fmt.Errorf("login over HTTP as %s with %s: %w", name, keytab, err)
	}
	k := &auth.Kerberos{Admin: f.access.Admin, Token: f.tokenOwner, ShortName: f.shortName}
	k.Accept = func(token []byte, from netip.Addr) (string, []byte, error) {
		ctx, reply, err := acceptor.Accept(token, gss.Peer{Address: from})
		if err != nil {
			var e *gss.Error
			if errors.As(err, &e) {
				log.Info("a ticket is refused", "address", from, "reason", e.Reason, "client", e.Client, "detail", e.Detail)
			}
			return "", nil, err
		}
		return ctx.Client, reply, nil
	}
	k.MayImpersonate = func(real, user string, from netip.Addr) error {
		err := f.access.MayImpersonate(real, user, from)
		var e *ipc.Error
		if errors.As(err, &e) {
			return errors.New(e.Message)
		}
		return err
	}
	if err := setCookie(k, conf); err != nil {
		return nil, err
	}
	k.Open, err = openPaths(conf.Value(webOpen, ""))
	return k, err
}

// Proof reports whether callers of YARN's ports must prove who they are
// (hadoop.security.authentication).
func (f *Services) Proof() bool { return principal.Kerberos(f.conf) }

// webService returns the name and the keytab of a replica's service HTTP. YARN's own keys have precedence.
func webService(conf *hadoopconf.Config, id string) (name, keytab string, err error) {
	name = conf.Value(rmPrincipal, conf.Value(webPrincipal, ""))
	keytab = conf.Value(rmKeytab, conf.Value(webKeytab, ""))
	switch {
	case name == "":
		return "", "", fmt.Errorf("%s is kerberos, and there is no principal: set %s, for instance to HTTP/_HOST@REALM",
			webType, rmPrincipal)
	case keytab == "":
		return "", "", fmt.Errorf("%s is kerberos, and there is no keytab: set %s", webType, rmKeytab)
	case name == "*":
		return "HTTP/*", keytab, nil
	}
	if name, err = principal.OnHost(name, func() (string, error) { return ports.WebHost(conf, id) }); err != nil {
		return "", "", err
	}
	if !strings.HasPrefix(name, "HTTP/") {
		return "", "",
			fmt.Errorf("%s is not a principal of the service HTTP, for which browsers ask: write HTTP/_HOST@REALM, or *", name)
	}
	return name, keytab, nil
}

// setCookie reads the keys of the cookie.
func setCookie(k *auth.Kerberos, conf *hadoopconf.Config) error {
	seconds, err := strconv.ParseInt(conf.Value(webValidity, strconv.Itoa(webValidityDefault)), 10, 32)
	if err != nil || seconds <= 0 {
		return fmt.Errorf("%s is not a number of seconds above 0", webValidity)
	}
	k.Validity = time.Duration(seconds) * time.Second
	k.CookieDomain = conf.Value(webDomain, "")
	if strings.ContainsAny(k.CookieDomain, "; \r\n") {
		return fmt.Errorf("%s is not a domain", webDomain)
	}
	k.CookiePersistent = strings.EqualFold(conf.Value(webPersistent, "false"), "true")
	path := conf.Value(webSecret, "")
	if path == "" {
		return nil
	}
	if k.Secret, err = hadoopconf.ReadFile(path, webSecretMax); err != nil {
		return fmt.Errorf("%s: %w", webSecret, err)
	}
	if len(k.Secret) == 0 {
		return fmt.Errorf("%s: %w: No secret in signature secret file: %s", webSecret, os.ErrInvalid, path)
	}
	return nil
}

var openPath = regexp.MustCompile(`^/\w+$`)

// openPaths reads the paths that need no login.
func openPaths(text string) ([]string, error) {
	paths := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '\n' })
	out := paths[:0]
	for _, p := range paths {
		if p = strings.TrimSpace(p); p == "" {
			continue
		}
		if !openPath.MatchString(p) {
			return nil,
				fmt.Errorf(
					"%s: The element of the whitelist: %s must start with '/' and must not contain special characters afterwards",
					webOpen, p)
		}
		out = append(out, p)
	}
	return out, nil
}

// tokenOwner returns the owner of a delegation token that is written as in URLs.
func (f *Services) tokenOwner(ctx context.Context, text string) (string, error) {
	t, err := token.FromURLString(text)
	if err != nil {
		return "", err
	}
	user, password, err := f.client.Password(ctx, t.GetIdentifier())
	if err != nil {
		return "", err
	}
	if subtle.ConstantTimeCompare(password, t.GetPassword()) != 1 {
		return "", errors.New("its password is wrong")
	}
	return user, nil
}
