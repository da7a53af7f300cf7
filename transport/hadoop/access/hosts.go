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

// hostList is a list of addresses and networks, or every host.
type hostList struct {
	all      bool
	networks []netip.Prefix
}

// resolve looks up the addresses of a host.
type resolve func(ctx context.Context, host string) ([]netip.Addr, error)

func lookupHost(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// parseHosts reads addresses, networks and names between commas, or "*". Names are looked up now, all
// at once. As in Hadoop, one without an address stands for nothing. unknown has these names.
//
// Source: Hadoop 3.4.2, MachineList.
func parseHosts(text string, find resolve) (list hostList, unknown []string, err error) {
	items := hadoopconf.List(text)
	if len(items) == 1 && items[0] == "*" {
		return hostList{all: true}, nil, nil
	}
	var names []string
	for _, item := range items {
		if strings.Contains(item, "/") {
			network, err := netip.ParsePrefix(item)
			if err != nil {
				return hostList{}, nil, fmt.Errorf("%q is not a network (write 10.0.0.0/8)", item)
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

func (l *hostList) add(a netip.Addr) {
	a = a.Unmap().WithZone("")
	l.networks = append(l.networks, netip.PrefixFrom(a, a.BitLen()))
}

// includes reports whether the list has an address.
func (l hostList) includes(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return l.all || slices.ContainsFunc(l.networks, func(n netip.Prefix) bool { return n.Contains(a) })
}
