package markdown

import (
	"net/url"
	"strings"

	"golang.org/x/net/idna"
)

// maxLink is the longest address that becomes a link, in bytes.
const maxLink = 2048

// safeLink reads an absolute address of http, https, mailto or file, and refuses
// everything else. Href is printable ASCII; shown is for people, its host in ASCII
// so that look-alike letters are seen, and without a name before the host, which
// would look like one.
func safeLink(address string) (href, shown string, ok bool) {
	address = strings.TrimSpace(address)
	if address == "" || len(address) > maxLink {
		return "", "", false
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", "", false
	}
	switch u.Scheme {
	case "http", "https":
		host, err := idna.Punycode.ToASCII(u.Hostname())
		if err != nil || host == "" || strings.Contains(host, ":") {
			return "", "", false
		}
		if port := u.Port(); port != "" {
			host += ":" + port
		}
		u.User, u.Host = nil, host
		href, shown = u.String(), host+strings.TrimSuffix(u.EscapedPath(), "/")
	case "mailto":
		href, shown = u.String(), u.Opaque
	case "file":
		if u.Host != "" && u.Host != "localhost" {
			return "", "", false
		}
		href, shown = u.String(), u.Path
	}
	for i := range len(href) {
		if href[i] <= ' ' || href[i] >= 0x7f {
			return "", "", false
		}
	}
	return href, shown, shown != ""
}

// pretends reports whether the words of a link look like an address that is not
// where it leads.
func pretends(words, href, shown string) bool {
	words = strings.TrimSuffix(strings.ToLower(strings.TrimSpace(words)), "/")
	if !strings.Contains(words, "://") && (strings.Contains(words, " ") || !strings.Contains(words, ".")) {
		return false
	}
	for _, same := range [...]string{href, shown} {
		if same = strings.TrimSuffix(strings.ToLower(same), "/"); words == same || words == "www."+same || "www."+words == same {
			return false
		}
	}
	host, _, _ := strings.Cut(shown, "/")
	return strings.Contains(words, "://") || !strings.EqualFold(words, host) && domain(words)
}

// domain reports whether words could be the name of a host and a path.
func domain(words string) bool {
	host, _, _ := strings.Cut(words, "/")
	last := host[strings.LastIndexByte(host, '.')+1:]
	for _, known := range [...]string{"com", "org", "net", "io", "dev", "de", "gov", "edu", "co", "uk", "app", "ai", "info"} {
		if last == known {
			return true
		}
	}
	return false
}

// Href is the target of a hyperlink to address, printable ASCII. Ok is false for
// what is no absolute address of http, https, mailto or file.
func Href(address string) (href string, ok bool) {
	href, _, ok = safeLink(address)
	return href, ok
}
