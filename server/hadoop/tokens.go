package hadoop

import (
	"errors"
	"net"
	"time"

	"rmd/internal/gss/kdc"
	"rmd/internal/hadoopconf"
	"rmd/internal/job"
	"rmd/internal/leadership"
	"rmd/internal/principal"
	"rmd/transport/hadoop"
	"rmd/transport/hadoop/issuer"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/renewer"
	"rmd/transport/hadoop/token"
)

// tokens renews the tokens of applications, where Kerberos authenticates callers.
type tokens struct {
	policy   renewer.Policy
	services *issuer.Services
	renewer  *renewer.Renewer
	leads    chan leadership.Leadership
}

// openTokens creates the renewer. Without Kerberos there is none, as in YARN.
func (f *Services) openTokens() error {
	record := f.cfg.Jobs.Job(job.Tokens)
	if f.security.Kerberos == nil {
		return nil
	}
	conf, err := hadoopconf.ReadDir(f.cfg.Settings.HadoopConfDir, issuer.Files...)
	if err != nil {
		return err
	}
	t := &tokens{leads: make(chan leadership.Leadership, 16)}
	if t.policy, err = renewer.PolicyOf(conf); err != nil {
		return err
	}
	t.policy.Managed, t.policy.Identify = issuer.Managed, token.Token.Identify
	t.policy.Own = func(k token.Token) bool {
		_, err := token.VerifyDelegation(f.read.Fork(),
			&proto.TokenProto{Identifier: k.Identifier, Password: k.Password, Kind: &k.Kind, Service: &k.Service},
			time.Now().UnixMilli())
		return err == nil
	}
	name, err := hadoop.Principal(conf, f.cfg.Settings.ID)
	if err != nil {
		return err
	}
	login, err := kdc.NewLogin(name.String(), conf.Value("yarn.resourcemanager.keytab", ""), principal.Configuration())
	if err != nil {
		return err
	}
	t.services, err = issuer.Open(issuer.Config{Logger: f.logger("tokens"), Conf: conf, Login: login,
		Protection: f.security.Protection,
		Dial:       f.cfg.Budget.Dialer("tokens", new(net.Dialer).DialContext)})
	if err != nil {
		return err
	}
	c := renewer.Config{Logger: f.logger("tokens"), Submitter: f.cfg.Submitter, Reader: f.read, Services: t.services,
		Policy: t.policy,
		Job:    record, Final: func(err error) bool {
			return errors.Is(err, issuer.ErrInvalidToken) || errors.Is(err, issuer.ErrNotRenewer)
		}}
	c.Defaults()
	if t.renewer, err = renewer.New(c); err != nil {
		return err
	}
	f.tokens = t
	return nil
}
