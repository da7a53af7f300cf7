package hadoop

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/internal/hadoopconf"
	"rmd/transport/hadoop/access"
	"rmd/transport/hadoop/ipc"
)

// chooser returns the qualities of protection that a port offers a peer.
type chooser func(port int, peer netip.Addr) ipc.Protection

// The classes that choose the protection of a connection, and their key.
const (
	resolverKey       = "hadoop.security.saslproperties.resolver.class"
	resolver          = "org.apache.hadoop.security.SaslPropertiesResolver"
	ingressResolver   = "org.apache.hadoop.security.IngressPortBasedResolver"
	whitelistResolver = "org.apache.hadoop.security.WhitelistBasedResolver"
)

// chooserOf returns what the configured class chooses, or nil if it always offers usual.
func chooserOf(conf *hadoopconf.Config, usual ipc.Protection, log hclog.Logger) (chooser, error) {
	switch class := strings.TrimSpace(conf.Value(resolverKey, resolver)); class {
	case resolver, "":
		return nil, nil
	case ingressResolver:
		return byPort(conf, usual)
	case whitelistResolver:
		return byAddress(conf, usual, log)
	default:
		return nil,
			fmt.Errorf("%s: the class %s cannot be run here: remove the key and write hadoop.rpc.protection, or use %s or %s",
				resolverKey, class, ingressResolver, whitelistResolver)
	}
}

// byPort chooses by the port.
//
// Source: Hadoop 3.4.2, IngressPortBasedResolver.
func byPort(conf *hadoopconf.Config, usual ipc.Protection) (chooser, error) {
	offers := map[int]ipc.Protection{}
	for _, text := range hadoopconf.List(conf.Value("ingress.port.sasl.configured.ports", "")) {
		port, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("ingress.port.sasl.configured.ports: %q is not a port", text)
		}
		if offers[port], err = protection(conf, "ingress.port.sasl.prop."+text, "privacy"); err != nil {
			return nil, err
		}
	}
	return func(port int, _ netip.Addr) ipc.Protection {
		if p := offers[port]; p != 0 {
			return p
		}
		return usual
	}, nil
}

const (
	fixedKey    = "hadoop.security.sasl.fixedwhitelist.file"
	variableKey = "hadoop.security.sasl.variablewhitelist.file"
	enableKey   = "hadoop.security.sasl.variablewhitelist.enable"
	cacheKey    = "hadoop.security.sasl.variablewhitelist.cache.secs"
	othersKey   = "hadoop.rpc.protection.non-whitelist"
)

// byAddress chooses by the peer's address: usual for 127.0.0.1 and those in two files, and another
// protection for the rest.
//
// Source: Hadoop 3.4.2, WhitelistBasedResolver, CombinedIPWhiteList.
func byAddress(conf *hadoopconf.Config, usual ipc.Protection, log hclog.Logger) (chooser, error) {
	others, err := protection(conf, othersKey, "privacy")
	if err != nil {
		return nil, err
	}
	fixed, err := openWhitelist(fixedKey, conf.Value(fixedKey, "/etc/hadoop/fixedwhitelist"), -1, log)
	if err != nil {
		return nil, err
	}
	lists := []*whitelist{fixed}
	if strings.EqualFold(strings.TrimSpace(conf.Value(enableKey, "false")), "true") {
		seconds, err := strconv.ParseInt(conf.Value(cacheKey, "3600"), 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%s: %q is not a number of seconds", cacheKey, conf.Value(cacheKey, ""))
		}
		variable, err := openWhitelist(variableKey, conf.Value(variableKey, "/etc/hadoop/whitelist"),
			time.Duration(seconds)*time.Second, log)
		if err != nil {
			return nil, err
		}
		lists = append(lists, variable)
	}
	local := netip.MustParseAddr("127.0.0.1")
	return func(_ int, peer netip.Addr) ipc.Protection {
		if peer.Unmap() == local {
			return usual
		}
		for _, l := range lists {
			if l.has(peer, time.Now()) {
				return usual
			}
		}
		return others
	}, nil
}

// whitelist is a file with an address, a network or a name in each line.
type whitelist struct {
	key, path string
	cached    time.Duration // until the file is read again; below 0: never
	log       hclog.Logger

	mu   sync.Mutex
	list access.HostList
	next time.Time // when the file is read again
}

// whitelistMax limits the file, in bytes.
const whitelistMax = 1 << 20

func openWhitelist(key, path string, cached time.Duration, log hclog.Logger) (*whitelist, error) {
	w := &whitelist{key: key, path: path, cached: cached, log: log, next: time.Now().Add(cached)}
	return w, w.read()
}

// has reports whether the file has an address. It reads the file again when its time has come. If
// the file has an error then, the earlier list stays in force.
func (w *whitelist) has(a netip.Addr, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cached >= 0 && now.After(w.next) {
		w.next = now.Add(w.cached)
		if err := w.read(); err != nil {
			w.log.Error("the file has changed and cannot be read; the earlier list stays in force", "error", err)
		}
	}
	return w.list.Includes(a)
}

// read reads the file. As in Hadoop, one that does not exist has no addresses.
func (w *whitelist) read() error {
	b, err := hadoopconf.ReadFile(w.path, whitelistMax)
	if errors.Is(err, fs.ErrNotExist) {
		w.log.Warn("the file of a white list does not exist, so it has no addresses", "key", w.key, "file", w.path)
		b, err = nil, nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", w.key, err)
	}
	list, unknown, err := access.ParseHosts(strings.Join(strings.Fields(string(b)), ","), nil)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", w.key, w.path, err)
	}
	if len(unknown) > 0 {
		w.log.Warn("names in a white list have no address, so they stand for nothing", "key", w.key, "file", w.path, "names",
			strings.Join(unknown, " "))
	}
	w.list = list
	return nil
}
