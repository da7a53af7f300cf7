package issuer

import (
	"fmt"
	"net"
	"strings"

	"rmd/internal/hadoopconf"
	"rmd/transport/hadoop/token"
)

// conf is the configuration for one token: that of the application, and else that of this replica.
type conf struct {
	own *hadoopconf.Config
	app map[string]string
}

// overlay reads tokens_conf. Of its keys only those of HDFS count, because they say where a service
// is.
func overlay(own *hadoopconf.Config, tokensConf []byte) (conf, error) {
	c := conf{own: own}
	if len(tokensConf) == 0 {
		return c, nil
	}
	var err error
	c.app, err = token.ReadTokensConf(tokensConf)
	return c, err
}

// byApp reports whether the application gives the value of a key.
func (c conf) byApp(key string) bool {
	return strings.HasPrefix(key, "dfs.") && strings.TrimSpace(c.app[key]) != ""
}

// value returns the value of a key, or def.
func (c conf) value(key, def string) string {
	if c.byApp(key) {
		return strings.TrimSpace(c.app[key])
	}
	return c.own.Value(key, def)
}

// isNameService reports whether a name is one of a name service.
func (c conf) isNameService(name string) bool {
	for _, list := range []string{c.app["dfs.nameservices"], c.own.Value("dfs.nameservices", "")} {
		for _, n := range hadoopconf.List(list) {
			if n == name {
				return true
			}
		}
	}
	return false
}

// serversMax limits the servers of a service.
const serversMax = 64

// servers returns the addresses of a name service: the values of a key for each of its NameNodes.
func (c conf) servers(name, key, port string) ([]string, error) {
	if !c.isNameService(name) {
		//lint:ignore ST1005 Java's words
		return nil, fmt.Errorf("Unable to map logical nameservice URI 'hdfs://%s' to a NameNode. Local configuration "+
			"does not have a failover proxy provider configured.: add it to dfs.nameservices in hdfs-site.xml, or "+
			"send it with the job (mapreduce.job.send-token-conf)", name)
	}
	keys := []string{key + "." + name}
	if ids := hadoopconf.List(c.value("dfs.ha.namenodes."+name, "")); len(ids) > 0 {
		keys = nil
		for _, id := range ids {
			keys = append(keys, key+"."+name+"."+id)
		}
	}
	if len(keys) > serversMax {
		return nil, fmt.Errorf("dfs.ha.namenodes.%s names %d NameNodes, at most %d are tried", name, len(keys), serversMax)
	}
	var out []string
	for _, k := range keys {
		if v := c.value(k, ""); v != "" {
			out = append(out, withPort(v, port))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("the name service %s has no address: set %s", name, strings.Join(keys, ", "))
	}
	return out, nil
}

// withPort adds a port to an address that has none.
func withPort(address, port string) string {
	if _, _, err := net.SplitHostPort(address); err == nil {
		return address
	}
	return net.JoinHostPort(strings.Trim(address, "[]"), port)
}

// direct returns the address in the service of a token.
func direct(service string) ([]string, error) {
	host, port, err := net.SplitHostPort(service)
	if err != nil || host == "" || port == "" {
		return nil, fmt.Errorf("the service %q of the token is no address host:port", service)
	}
	return []string{service}, nil
}
