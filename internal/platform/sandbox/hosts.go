package sandbox

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// host is one entry of the list of allowed hosts.
type host struct {
	name     string     // lower case, without the wildcard; empty for an address
	wildcard bool       // subdomains of name
	address  netip.Addr // valid if the entry is an address
	port     int        // 0: 80 and 443; anyPort: all
}

const anyPort = -1

// parseHosts reads a list of allowed hosts.
func parseHosts(list []string) ([]host, error) {
	hosts := make([]host, 0, len(list))
	for _, entry := range list {
		h, err := parseHost(entry)
		if err != nil {
			return nil, fmt.Errorf("allowed host %q: %w", entry, err)
		}
		hosts = append(hosts, h)
	}
	return hosts, nil
}

func parseHost(entry string) (host, error) {
	name := strings.ToLower(strings.TrimSpace(entry))
	var h host
	if a, err := netip.ParseAddr(name); err == nil {
		h.address = a.Unmap()
		return h, nil
	}
	if i := strings.LastIndexByte(name, ':'); i >= 0 {
		port := name[i+1:]
		name = name[:i]
		if port == "*" {
			h.port = anyPort
		} else if n, err := strconv.ParseUint(port, 10, 16); err == nil && n > 0 {
			h.port = int(n)
		} else {
			return host{}, fmt.Errorf("a host is a name or an address, with or without a port from 1 to 65535 or * for all")
		}
	}
	if a, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		h.address = a.Unmap()
		return h, nil
	}
	name, h.wildcard = strings.CutPrefix(strings.TrimSuffix(name, "."), "*.")
	h.wildcard = h.wildcard && name != ""
	if !isHostName(name) {
		return host{}, fmt.Errorf("not a host name (letters, digits, hyphens and dots; other scripts in their xn-- form)")
	}
	h.name = name
	return h, nil
}

func isHostName(name string) bool {
	if len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 {
			return false
		}
		for _, c := range []byte(label) {
			if c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
				return false
			}
		}
	}
	return true
}

// matches says whether h allows name (or an address as text) on port.
func (h host) matches(name string, port int) bool {
	switch h.port {
	case 0:
		if port != 80 && port != 443 {
			return false
		}
	case anyPort:
	default:
		if port != h.port {
			return false
		}
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if h.address.IsValid() {
		a, err := netip.ParseAddr(name)
		return err == nil && a.Unmap() == h.address
	}
	if h.wildcard {
		return strings.HasSuffix(name, "."+h.name)
	}
	return name == h.name
}

// mayBe says whether a connection to h may go to address a. A name that is allowed
// must not lead to services of this machine or its neighbourhood: whoever runs the
// name's DNS would reach them.
func (h host) mayBe(a netip.Addr) bool {
	a = a.Unmap()
	switch {
	case h.address.IsValid():
		return a == h.address
	case a.IsLoopback():
		return !h.wildcard && h.name == "localhost"
	case isSpecial(a):
		return false
	case a.IsPrivate() || sharedSpace.Contains(a):
		return !h.wildcard
	}
	return true
}

var (
	sharedSpace = netip.MustParsePrefix("100.64.0.0/10") // carriers' private addresses

	// specials are ranges that lead to no host of the Internet, or hide an address
	// of version 4 that would have to be judged.
	specials = []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("198.18.0.0/15"),
		netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("::/96"), netip.MustParsePrefix("64:ff9b::/96"),
		netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2001::/32"), netip.MustParsePrefix("2002::/16"),
		netip.MustParsePrefix("fec0::/10"),
	}
)

func isSpecial(a netip.Addr) bool {
	if !a.IsValid() || a.Zone() != "" || a.IsUnspecified() || a.IsMulticast() || a.IsLinkLocalUnicast() {
		return true
	}
	for _, p := range specials {
		if p.Contains(a) {
			return true
		}
	}
	return false
}
