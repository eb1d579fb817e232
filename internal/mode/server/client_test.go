package server

import (
	"crypto/tls"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

func TestClient(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/16"), netip.MustParsePrefix("127.0.0.1/32")}
	for _, tt := range []struct {
		name, remote string
		headers      []string // name: value
		want         string
		https        bool
	}{
		{"no headers", "203.0.113.7:999", nil, "203.0.113.7", false},
		{"of nobody's proxy", "203.0.113.7:999", []string{"X-Forwarded-For: 198.51.100.1", "X-Forwarded-Proto: https", "Forwarded: for=198.51.100.1;proto=https"}, "203.0.113.7", false},
		{"one proxy", "10.0.0.1:999", []string{"X-Forwarded-For: 198.51.100.1", "X-Forwarded-Proto: https"}, "198.51.100.1", true},
		{"a proxy that says nothing", "10.0.0.1:999", nil, "10.0.0.1", false},
		{"made up before the proxy", "10.0.0.1:999", []string{"X-Forwarded-For: 192.0.2.66, 198.51.100.1"}, "198.51.100.1", false},
		{"a made-up proxy", "10.0.0.1:999", []string{"X-Forwarded-For: 192.0.2.66, 10.0.0.5, 198.51.100.1"}, "198.51.100.1", false},
		{"a chain of proxies", "10.0.0.1:999", []string{"X-Forwarded-For: 198.51.100.1, 10.9.9.9, 10.0.0.2"}, "198.51.100.1", false},
		{"only proxies", "10.0.0.1:999", []string{"X-Forwarded-For: 10.9.9.9, 10.0.0.2"}, "10.9.9.9", false},
		{"several headers", "10.0.0.1:999", []string{"X-Forwarded-For: 192.0.2.66", "X-Forwarded-For: 198.51.100.1"}, "198.51.100.1", false},
		{"garbage", "10.0.0.1:999", []string{"X-Forwarded-For: <script>"}, "10.0.0.1", false},
		{"garbage before the client", "10.0.0.1:999", []string{"X-Forwarded-For: ;;, 198.51.100.1"}, "198.51.100.1", false},
		{"garbage behind the client", "10.0.0.1:999", []string{"X-Forwarded-For: 198.51.100.1, unknown"}, "10.0.0.1", false},
		{"garbage between proxies", "10.0.0.1:999", []string{"X-Forwarded-For: 198.51.100.1, unknown, 10.0.0.2"}, "10.0.0.2", false},
		{"empty", "10.0.0.1:999", []string{"X-Forwarded-For: "}, "10.0.0.1", false},
		{"ports", "10.0.0.1:999", []string{"X-Forwarded-For: 198.51.100.1:4711"}, "198.51.100.1", false},
		{"IPv6", "[fd00::1]:999", []string{"X-Forwarded-For: 2001:db8::7"}, "2001:db8::7", false},
		{"IPv6 with a port", "[fd00::1]:999", []string{"X-Forwarded-For: [2001:db8::7]:80"}, "2001:db8::7", false},
		{"IPv6 in brackets", "[fd00::1]:999", []string{"X-Forwarded-For: [2001:db8::7]"}, "2001:db8::7", false},
		{"mapped", "[::ffff:10.0.0.1]:999", []string{"X-Forwarded-For: ::ffff:198.51.100.1"}, "198.51.100.1", false},
		{"a zone", "[fe80::1%eth0]:999", nil, "fe80::1", false},
		{"each has said how", "10.0.0.1:999", []string{"X-Forwarded-For: 198.51.100.1, 10.0.0.2", "X-Forwarded-Proto: https, http"}, "198.51.100.1", true},
		{"only the last has said how", "10.0.0.1:999", []string{"X-Forwarded-For: 198.51.100.1", "X-Forwarded-Proto: https, http"}, "198.51.100.1", false},
		{"only how", "10.0.0.1:999", []string{"X-Forwarded-Proto: HTTPS"}, "10.0.0.1", true},
		{"Forwarded", "10.0.0.1:999", []string{`Forwarded: for="[2001:db8::7]:4711";proto=https;by=10.0.0.1`}, "2001:db8::7", true},
		{"Forwarded in a chain", "10.0.0.1:999", []string{"Forwarded: for=192.0.2.66;proto=http, For=198.51.100.1; Proto=https", "Forwarded: for=10.0.0.2;proto=http"}, "198.51.100.1", true},
		{"Forwarded that hides", "10.0.0.1:999", []string{"Forwarded: for=198.51.100.1, for=_hidden"}, "10.0.0.1", false},
		{"both agree", "10.0.0.1:999", []string{"Forwarded: for=198.51.100.1;proto=https", "X-Forwarded-For: 198.51.100.1", "X-Forwarded-Proto: https"}, "198.51.100.1", true},
		{"one is made up", "10.0.0.1:999", []string{"Forwarded: for=192.0.2.66;proto=https", "X-Forwarded-For: 198.51.100.1"}, "10.0.0.1", false},
		{"no address", "@", nil, "invalid IP", false},
	} {
		r := &http.Request{Header: http.Header{}, RemoteAddr: tt.remote}
		for _, h := range tt.headers {
			name, value, _ := strings.Cut(h, ": ")
			r.Header.Add(name, value)
		}
		r = NewServer(Options{Proxies: proxies}).identified(r)
		if got := clientAddr(r).String(); got != tt.want || isHTTPS(r) != tt.https {
			t.Errorf("%s: %s, https %v", tt.name, got, isHTTPS(r))
		}
	}
	r := NewServer(Options{}).identified(&http.Request{RemoteAddr: "203.0.113.7:1", TLS: &tls.ConnectionState{}, Header: http.Header{"X-Forwarded-Proto": {"http"}}})
	if !isHTTPS(r) {
		t.Error("a connection of TLS is not HTTPS")
	}
}

func FuzzClient(f *testing.F) {
	f.Add("198.51.100.1, 10.0.0.2", `for="[2001:db8::7]:4711";proto=https, for=_x`, "https")
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	f.Fuzz(func(t *testing.T, list, forwarded, proto string) {
		h := http.Header{"X-Forwarded-For": {list}, "Forwarded": {forwarded}, "X-Forwarded-Proto": {proto}}
		if got := clientOf(&http.Request{RemoteAddr: "10.0.0.1:1", Header: h}, proxies); !got.addr.IsValid() {
			t.Error("behind a proxy, nobody knows the client")
		}
		if got := clientOf(&http.Request{RemoteAddr: "203.0.113.7:1", Header: h}, proxies); got.addr.String() != "203.0.113.7" || got.https {
			t.Errorf("without a proxy, the client is %v", got)
		}
	})
}
