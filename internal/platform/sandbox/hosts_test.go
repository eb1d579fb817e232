package sandbox

import (
	"net/netip"
	"testing"
)

func TestHostRules(t *testing.T) {
	for _, tt := range []struct {
		rule     string
		yes, not []target
	}{
		{
			"example.com",
			[]target{{"example.com", 443}, {"EXAMPLE.com", 80}, {"example.com.", 443}},
			[]target{{"example.com", 22}, {"www.example.com", 443}, {"badexample.com", 443}, {"example.com.evil.org", 443}, {"", 443}},
		},
		{
			"*.example.com",
			[]target{{"www.example.com", 443}, {"a.b.example.com", 80}},
			[]target{{"example.com", 443}, {"badexample.com", 443}, {"www.example.com", 8443}},
		},
		{"Example.com.:8443", []target{{"example.com", 8443}}, []target{{"example.com", 443}}},
		{"*.example.com:*", []target{{"www.example.com", 22}}, []target{{"example.com", 22}}},
		{"10.0.0.7", []target{{"10.0.0.7", 80}, {"::ffff:10.0.0.7", 80}}, []target{{"10.0.0.7", 81}, {"10.0.0.70", 80}, {"010.0.0.7", 80}}},
		{"[::1]:3000", []target{{"::1", 3000}, {"0:0::1", 3000}}, []target{{"::1", 80}, {"127.0.0.1", 3000}}},
		{"2001:db8::1", []target{{"2001:db8::1", 443}}, []target{{"2001:db8::2", 443}}},
		{"localhost:*", []target{{"localhost", 5}}, []target{{"127.0.0.1", 5}}},
	} {
		h, err := parseHost(tt.rule)
		if err != nil {
			t.Errorf("%s: %v", tt.rule, err)
			continue
		}
		for _, to := range tt.yes {
			if !h.matches(to.host, to.port) {
				t.Errorf("%s does not allow %v", tt.rule, to)
			}
		}
		for _, to := range tt.not {
			if h.matches(to.host, to.port) {
				t.Errorf("%s allows %v", tt.rule, to)
			}
		}
	}
	for _, bad := range []string{"", "*", "*.", "*.*.com", "a.*.com", "https://a.com", "a.com/x", "a.com:0", "a.com:65536", "a.com:x", "a b.com", "bücher.de", "a..com", "user@a.com", "[::1"} {
		if h, err := parseHost(bad); err == nil {
			t.Errorf("%q is the rule %+v", bad, h)
		}
	}
}

// Where names may lead: whoever answers for an allowed name must not get at what
// listens on this machine or its metadata service.
func TestAddressesOfHosts(t *testing.T) {
	for _, tt := range []struct {
		address                            string
		wildcard, name, localhost, literal bool
	}{
		{"93.184.216.34", true, true, true, false},
		{"2606:2800:220:1::1", true, true, true, false},
		{"10.1.2.3", false, true, true, true},
		{"192.168.0.1", false, true, true, false},
		{"100.64.1.1", false, true, true, false},
		{"fd00::1", false, true, true, false},
		{"::ffff:10.1.2.3", false, true, true, true},
		{"127.0.0.1", false, false, true, false},
		{"::1", false, false, true, false},
		{"169.254.169.254", false, false, false, false},
		{"fe80::1", false, false, false, false},
		{"0.0.0.0", false, false, false, false},
		{"0.1.2.3", false, false, false, false},
		{"224.0.0.1", false, false, false, false},
		{"255.255.255.255", false, false, false, false},
		{"64:ff9b::7f00:1", false, false, false, false},
		{"2002:7f00:1::", false, false, false, false},
		{"::7f00:1", false, false, false, false},
	} {
		a := netip.MustParseAddr(tt.address)
		for rule, want := range map[string]bool{
			"*.example.com": tt.wildcard, "example.com": tt.name, "localhost": tt.localhost, "10.1.2.3": tt.literal,
		} {
			h, err := parseHost(rule)
			if err != nil {
				t.Fatal(err)
			}
			if got := h.mayBe(a); got != want {
				t.Errorf("%s may be %s: %v, want %v", rule, a, got, want)
			}
		}
	}
}

func FuzzParseHost(f *testing.F) {
	for _, s := range []string{"example.com", "*.a.b:443", "[::1]:80", "1.2.3.4", "a:*", "::", "[", "*.[::1]"} {
		f.Add(s, "www.example.com", 443)
	}
	f.Fuzz(func(t *testing.T, rule, name string, port int) {
		h, err := parseHost(rule)
		if err != nil {
			return
		}
		if h.name == "" && !h.address.IsValid() {
			t.Fatalf("%q is a rule for nothing: %+v", rule, h)
		}
		if h.wildcard && h.matches(h.name, 443) {
			t.Errorf("%q allows the name itself", rule)
		}
		if h.matches(name, port) && h.port > 0 && port != h.port {
			t.Errorf("%q allows port %d", rule, port)
		}
	})
}
