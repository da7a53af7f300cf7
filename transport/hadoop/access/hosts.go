package access

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"rmd/internal/hadoopconf"
)

// HostList is a list of addresses and networks, or every host.
type HostList struct {
	all      bool
	networks []netip.Prefix
}

// resolve looks up the addresses of a host.
type resolve func(ctx context.Context, host string) ([]netip.Addr, error)

func lookupHost(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// ParseHosts reads addresses, networks and names between commas, or "*". Names are looked up now, all
// at once, with find or, if it is nil, with the system's resolver. As in Hadoop, one without an address
// stands for nothing. unknown has these names.
//
// Source: Hadoop 3.4.2, MachineList.
func ParseHosts(text string, find resolve) (list HostList, unknown []string, err error) {
	if find == nil {
		find = lookupHost
	}
	items := hadoopconf.List(text)
	if len(items) == 1 && items[0] == "*" {
		return HostList{all: true}, nil, nil
	}
	var names []string
	for _, item := range items {
		if strings.Contains(item, "/") {
			network, err := netip.ParsePrefix(item)
			if err != nil {
				return HostList{}, nil, fmt.Errorf("%q is not a network (write 10.0.0.0/8)", item)
			}
			list.networks = append(list.networks, network.Masked())
		} else if a, err := netip.ParseAddr(item); err == nil {
			list.add(a)
		} else {
			names = append(names, item)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	found := make([][]netip.Addr, len(names))
	var wg sync.WaitGroup
	slots := make(chan struct{}, lookupsMax)
	for i, name := range names {
		slots <- struct{}{}
		wg.Go(func() {
			found[i], _ = find(ctx, name) // a name without an address is reported below
			<-slots
		})
	}
	wg.Wait()
	for i, addrs := range found {
		if len(addrs) == 0 {
			unknown = append(unknown, names[i])
		}
		for _, a := range addrs {
			list.add(a)
		}
	}
	return list, unknown, nil
}

// lookupsMax limits the lookups at the same time.
const lookupsMax = 64

func (l *HostList) add(a netip.Addr) {
	a = a.Unmap().WithZone("")
	l.networks = append(l.networks, netip.PrefixFrom(a, a.BitLen()))
}

// Includes reports whether the list has an address.
func (l HostList) Includes(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return l.all || slices.ContainsFunc(l.networks, func(n netip.Prefix) bool { return n.Contains(a) })
}
