package issuer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
)

// fetch gets a token of the default file system. Its renewer is this ResourceManager.
func (s *Services) fetch(ctx context.Context, user string) (token.Token, error) {
	c := conf{own: s.cfg.Conf}
	fs := c.value("fs.defaultFS", c.value("fs.default.name", ""))
	u, err := url.Parse(fs)
	if err != nil || u.Scheme != "hdfs" || u.Host == "" {
		return token.Token{}, fmt.Errorf("fs.defaultFS is %q, and tokens are fetched only of hdfs://NAME or hdfs://HOST:PORT",
			fs)
	}
	service := "ha-hdfs:" + u.Host
	if !c.isNameService(u.Host) {
		service = withPort(u.Host, "8020")
	}
	r, err := s.nameNode(c, service)
	if err != nil {
		return token.Token{}, err
	}
	renewer := s.cfg.Login.Principal()
	reply := new(proto.GetDelegationTokenResponseProto)
	if err := r.call(ctx, user, "getDelegationToken", &proto.GetDelegationTokenRequestProto{Renewer: &renewer},
		reply); err != nil {
		return token.Token{}, err
	}
	p := reply.GetToken()
	if p == nil {
		return token.Token{}, errors.New("the NameNode gives no token, because it is not secured")
	}
	if !strings.HasPrefix(service, "ha-") {
		if service, err = s.addressOf(ctx, c, service); err != nil {
			return token.Token{}, err
		}
	}
	return token.Token{Alias: service, Kind: p.GetKind(), Service: service, Identifier: p.GetIdentifier(),
		Password: p.GetPassword()}, nil
}

// addressOf returns the service of a token of one server, as clients look for it: ip:port, or
// host:port.
func (s *Services) addressOf(ctx context.Context, c conf, server string) (string, error) {
	host, port, err := net.SplitHostPort(server)
	if err != nil {
		return "", err
	}
	if c.value("hadoop.security.token.service.use_ip", "true") == "false" {
		return net.JoinHostPort(strings.ToLower(host), port), nil
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return server, nil
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return "", err
	}
	best := addrs[0].Unmap()
	for _, a := range addrs {
		if a = a.Unmap(); a.Is4() {
			best = a
			break
		}
	}
	return net.JoinHostPort(best.String(), port), nil
}
