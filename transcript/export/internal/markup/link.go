package markup

import (
	"net/url"
	"strings"

	"golang.org/x/net/idna"

	"github.com/burin-dev/burin/internal/prose"
)

// maxAddress is the most bytes of a link's target.
const maxAddress = 2048

// Link is an address that may be followed.
type Link struct {
	href  string // percent-encoded
	shown string // for people: host in ASCII, so that look-alike letters are seen
}

// SafeURL reads an absolute address of http, https or mailto. Everything else is
// refused.
func SafeURL(address string) (Link, bool) {
	address = strings.TrimSpace(address)
	if len(address) > maxAddress {
		return Link{}, false
	}
	u, err := url.Parse(address)
	if err != nil {
		return Link{}, false
	}
	switch u.Scheme {
	case "http", "https":
		host, err := idna.Punycode.ToASCII(u.Hostname())
		if err != nil || host == "" {
			return Link{}, false
		}
		if port := u.Port(); port != "" {
			host += ":" + port
		}
		u.User = nil // "https://bank.example@evil.example" shows where it really goes
		u.Host = host
		return Link{href: u.String(), shown: host + strings.TrimSuffix(u.EscapedPath(), "/")}, true
	case "mailto":
		return Link{href: u.String(), shown: u.Opaque}, u.Opaque != ""
	}
	return Link{}, false
}

// Append appends the link with words for its text, and where it goes if the words do not say.
func (l Link) Append(dst []byte, words string) []byte {
	dst = append(dst, l.open()...)
	dst = AppendText(dst, words)
	return append(append(dst, "</a>"...), l.target(words)...)
}

func (l Link) open() string {
	return `<a rel="noopener noreferrer nofollow" target="_blank" href="` + string(AppendAttr(nil, l.href)) + `">`
}

func (l Link) target(words string) string {
	if strings.TrimSuffix(words, "/") == strings.TrimSuffix(l.href, "/") || words == l.shown {
		return ""
	}
	return ` <small class="to">` + string(AppendText(nil, prose.Clip(l.shown, 60))) + "</small>"
}
