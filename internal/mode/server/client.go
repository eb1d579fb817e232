package server

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// client is who sent a request, behind the proxies that the server trusts.
type client struct {
	addr  netip.Addr // not valid: nobody knows, as on a connection without addresses
	https bool
}

// clientKey is the context's key for the client of a request.
type clientKey struct{}

// clientAddr is the address of the client: that of the connection, or what a trusted proxy says.
func clientAddr(r *http.Request) netip.Addr {
	c, _ := r.Context().Value(clientKey{}).(client)
	return c.addr
}

// isHTTPS reports whether the client speaks HTTPS, with this server or a trusted proxy.
func isHTTPS(r *http.Request) bool {
	c, _ := r.Context().Value(clientKey{}).(client)
	return c.https
}

// identified is a request that knows its client.
func (s *Server) identified(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), clientKey{}, clientOf(r, s.o.Proxies)))
}

// clientOf finds the client of a request. Headers of those who are no proxy mean nothing. A proxy
// adds to what it was told, so only the end of a list is sure: the client is the last address that
// isn't a proxy's. Where the two kinds of headers name different clients, one of them went
// through the proxy as it came, and neither is believed.
func clientOf(r *http.Request, proxies []netip.Prefix) client {
	is := client{addr: hop(r.RemoteAddr), https: r.TLS != nil}
	trusted := func(a netip.Addr) bool {
		return a.IsValid() && slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(a) })
	}
	if !trusted(is.addr) {
		return is
	}
	var said []client
	if r.Header["X-Forwarded-For"] != nil || r.Header["X-Forwarded-Proto"] != nil {
		hops, protos := items(r.Header["X-Forwarded-For"], ","), items(r.Header["X-Forwarded-Proto"], ",")
		i := last(hops, trusted)
		one := client{addr: is.addr, https: is.https}
		if i >= 0 {
			one.addr = hop(hops[i])
		}
		switch n := len(protos); {
		case n > 1 && n == len(hops) && i >= 0:
			one.https = strings.EqualFold(protos[i], "https")
		case n > 0:
			one.https = strings.EqualFold(protos[n-1], "https")
		}
		said = append(said, one)
	}
	if r.Header["Forwarded"] != nil {
		var hops, protos []string
		for _, element := range items(r.Header["Forwarded"], ",") {
			var from, proto string
			for _, pair := range items([]string{element}, ";") {
				name, value, _ := strings.Cut(pair, "=")
				switch value = strings.Trim(strings.TrimSpace(value), `"`); strings.ToLower(strings.TrimSpace(name)) {
				case "for":
					from = value
				case "proto":
					proto = value
				}
			}
			hops, protos = append(hops, from), append(protos, proto)
		}
		one := client{addr: is.addr, https: is.https}
		if i := last(hops, trusted); i >= 0 {
			one.addr = hop(hops[i])
			if protos[i] != "" {
				one.https = strings.EqualFold(protos[i], "https")
			}
		}
		said = append(said, one)
	}
	switch {
	case len(said) == 1, len(said) == 2 && said[0].addr == said[1].addr:
		return said[0]
	}
	return is
}

// last is the index of the client in the hops: the last one that is no proxy, or the first one if all
// are. What can't be read ends the list there: whoever is before it may be made up. -1 is none.
func last(hops []string, trusted func(netip.Addr) bool) int {
	at := -1
	for i, h := range slices.Backward(hops) {
		a := hop(h)
		if !a.IsValid() {
			break
		}
		at = i
		if !trusted(a) {
			break
		}
	}
	return at
}

// items are the parts of a list that may be in several headers. Separators in quotes are rare enough
// to make a list that can't be read.
func items(headers []string, separator string) []string {
	var all []string
	for _, h := range headers {
		for part := range strings.SplitSeq(h, separator) {
			all = append(all, strings.TrimSpace(part))
		}
	}
	return all
}

// hop reads an address, with or without a port and brackets. Not valid: it is none.
func hop(text string) netip.Addr {
	if host, _, err := net.SplitHostPort(text); err == nil {
		text = host
	}
	a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap().WithZone("")
}
