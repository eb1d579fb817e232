package permission

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// compileHost reads host, host:port, *.host. Without a port a rule is for the
// ports of http and https.
func (c *compiled) compileHost() error {
	p := strings.ToLower(c.Pattern)
	if strings.Contains(p, "://") || strings.ContainsAny(p, "/@?# ") {
		return errors.New("write a host, as in example.com or *.example.com or localhost:8080, not a URL")
	}
	host := strings.TrimPrefix(p, "*.")
	name, _ := splitPort(host)
	if name == "" || strings.Contains(name, "*") || !isHost(name) {
		return errors.New("this is not a host name; write one with other letters in its xn-- form")
	}
	c.host = p
	return nil
}

// target is where a request goes: a host in lower case and a port, which is
// empty for the usual ones.
func target(s string) (host, port string, ok bool) {
	if strings.Contains(s, "://") {
		u, err := url.Parse(s)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" {
			return "", "", false
		}
		host, port = u.Hostname(), u.Port()
		if u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
			port = ""
		}
	} else {
		host, port = splitPort(s)
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if addr, err := netip.ParseAddr(host); err == nil {
		host = addr.String()
	}
	return host, port, isHost(host)
}

// splitPort takes the port off a host, also off an IPv6 address in brackets.
func splitPort(s string) (host, port string) {
	if h, p, err := net.SplitHostPort(s); err == nil {
		return h, p
	}
	return strings.Trim(s, "[]"), ""
}

func isHost(s string) bool {
	if _, err := netip.ParseAddr(s); err == nil {
		return true
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_' {
			return false
		}
	}
	return s != "" && len(s) <= 253 && s[0] != '.' && !strings.Contains(s, "..")
}

// matchHost reports whether the rule is for a host and port.
func (c *compiled) matchHost(host, port string) bool {
	if c.host == "" {
		return false
	}
	name, below := strings.CutPrefix(c.host, "*.")
	want, wantPort := splitPort(name)
	if port != wantPort {
		return false
	}
	if below {
		return strings.HasSuffix(host, "."+want)
	}
	return host == want
}
