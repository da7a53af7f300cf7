package renewer

import (
	"fmt"
	"strconv"
	"time"

	"rmd/fsm/apptoken"
	"rmd/internal/hadoopconf"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
)

// Policy are the rules by which applications' tokens are treated, from YARN's keys.
type Policy struct {
	ThreadsMax   int           // yarn.resourcemanager.delegation-token-renewer.thread-count
	Timeout      time.Duration // yarn.resourcemanager.delegation-token-renewer.thread-timeout
	AlwaysCancel bool          // yarn.resourcemanager.delegation-token.always-cancel
	// Replace allows to get new tokens of the file system as a proxy of the application's user
	// (yarn.resourcemanager.proxy-user-privileges.enabled). It is done when less than Remaining is
	// between the end and the latest end of a token
	// (yarn.resourcemanager.system-credentials.valid-time-remaining).
	Replace   bool
	Remaining time.Duration
	// Delay is the time from the end of an application to the release of its tokens: nodes collect
	// its logs (yarn.log-aggregation-enable, yarn.nm.liveness-monitor.expiry-interval-ms).
	Delay time.Duration

	// Managed reports whether tokens of a kind are renewed. Identify decodes the identifier of such a
	// token. Own reports whether a token of this cluster itself is genuine.
	Managed  func(kind string) bool
	Identify func(t token.Token) (token.Delegation, error)
	Own      func(t token.Token) bool
}

// PolicyOf reads the rules from Hadoop's files.
func PolicyOf(conf *hadoopconf.Config) (Policy, error) {
	p := Policy{}
	threads, err := number(conf, "yarn.resourcemanager.delegation-token-renewer.thread-count", 50)
	if err != nil {
		return p, err
	}
	p.ThreadsMax = int(max(threads, 1))
	if p.Timeout, err = timeout(conf.Value("yarn.resourcemanager.delegation-token-renewer.thread-timeout",
		"60s")); err != nil {
		return p, err
	}
	remaining, err := number(conf, "yarn.resourcemanager.system-credentials.valid-time-remaining", 10_800_000)
	if err != nil {
		return p, err
	}
	p.Remaining = time.Duration(remaining) * time.Millisecond
	p.AlwaysCancel = conf.Value("yarn.resourcemanager.delegation-token.always-cancel", "false") == "true"
	p.Replace = conf.Value("yarn.resourcemanager.proxy-user-privileges.enabled", "false") == "true"
	if conf.Value("yarn.log-aggregation-enable", "false") == "true" {
		delay, err := number(conf, "yarn.nm.liveness-monitor.expiry-interval-ms", 600_000)
		if err != nil {
			return p, err
		}
		p.Delay = time.Duration(delay) * time.Millisecond
	}
	return p, nil
}

// timeout reads a time; a number without a unit is in seconds.
func timeout(v string) (time.Duration, error) {
	d, err := time.ParseDuration(v)
	if n, notNumber := strconv.ParseInt(v, 10, 32); notNumber == nil {
		d, err = time.Duration(n)*time.Second, nil
	}
	if err != nil || d < time.Second {
		return 0,
			fmt.Errorf("yarn.resourcemanager.delegation-token-renewer.thread-timeout is %q: write a time of at least 1s", v)
	}
	return d, nil
}

func number(conf *hadoopconf.Config, key string, def int64) (int64, error) {
	v := conf.Value(key, "")
	if v == "" {
		return def, nil
	}
	n, err := strconv.ParseInt(v, 10, 40)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s is %q: write a number that is not negative", key, v)
	}
	return n, nil
}

// Of returns the tokens of a submission that the cluster renews. As in YARN, tokens of other kinds
// and tokens without a renewer are left alone.
func (p *Policy) Of(sub *proto.ApplicationSubmissionContextProto) (input.AppTokens, error) {
	launch := sub.GetAmContainerSpec()
	out := input.AppTokens{Conf: launch.GetTokensConf(), Keep: !sub.GetCancelTokensWhenComplete() && !p.AlwaysCancel,
		DelayMillis: p.Delay.Milliseconds()}
	credentials := new(token.Credentials)
	if len(launch.GetTokens()) > 0 {
		var err error
		if credentials, err = token.ReadCredentials(launch.GetTokens()); err != nil {
			return out, err
		}
	}
	hdfs := false
	for _, t := range credentials.Tokens {
		hdfs = hdfs || t.Kind == apptoken.KindHDFS
		if !p.Managed(t.Kind) || t.Kind == apptoken.KindRM && !p.Own(t) {
			continue
		}
		id, err := p.Identify(t)
		if err == nil && id.Renewer == "" {
			continue
		}
		if err != nil { // its service decides
			id = token.Delegation{}
		}
		out.List = append(out.List, input.AppToken{Kind: t.Kind, Service: t.Service, Identifier: t.Identifier,
			Password: t.Password, MaxMillis: max(id.MaxMillis, 0)})
	}
	out.Fetch = p.Replace && !hdfs
	if len(out.List) == 0 {
		out.Conf = nil
	}
	return out, nil
}

// describe returns YARN's text about a token, without its secrets. YARN shows the bytes of an
// identifier that it cannot decode.
func (p *Policy) describe(t token.Token) string {
	text := "unknown"
	if id, err := p.Identify(t); err == nil {
		text = fmt.Sprintf("%s token %d for %s with renewer %s", t.Kind, id.Sequence, id.Owner, id.Renewer)
	}
	return fmt.Sprintf("Kind: %s, Service: %s, Ident: (%s)", t.Kind, t.Service, text)
}
