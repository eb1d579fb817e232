package certificate

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func addresses(list ...string) (all []netip.Addr) {
	for _, a := range list {
		all = append(all, netip.MustParseAddr(a))
	}
	return all
}

// The authority stays the same in its file, which only its owner reads; processes that make it at
// once get the same.
func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "authority.pem")
	if _, err := Read(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before: %v", err)
	}
	prints := make([]string, 8)
	var work sync.WaitGroup
	for i := range prints {
		work.Go(func() {
			a, err := Open(path, "Box")
			if err != nil {
				t.Error(err)
				return
			}
			prints[i] = a.Fingerprint()
		})
	}
	work.Wait()
	if slices.Sort(prints); prints[0] != prints[7] || len(prints[0]) != 95 {
		t.Errorf("the fingerprints are %q", prints)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for _, broken := range []string{"", "x", "-----BEGIN CERTIFICATE-----\n"} {
		if err := os.WriteFile(path, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path, "box"); err == nil || !strings.Contains(err.Error(), "delete it for a new one") {
			t.Errorf("%q: %v", broken, err)
		}
	}
}

// What it issues is valid for this host on local networks and its private addresses, for a client
// that trusts the authority, and the client refuses all else even with the authority's key.
func TestIssue(t *testing.T) {
	now := time.Now()
	a, err := create("Box", now)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := a.Issue("Box", addresses("192.168.1.7", "fd00::7", "100.100.1.1", "127.0.0.1", "::1", "203.0.113.7"), now)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(a.Certificate())
	verify := func(cert *x509.Certificate, name string, at time.Time) error {
		_, err := cert.Verify(x509.VerifyOptions{DNSName: name, Roots: roots, CurrentTime: at})
		return err
	}
	for name, ok := range map[string]bool{
		"192.168.1.7": true, "fd00::7": true, "100.100.1.1": true, "127.0.0.1": true, "box": true, "box.local": true, "localhost": true,
		"192.168.1.8": false, "203.0.113.7": false, "example.org": false, "other.local": false,
	} {
		if err := verify(leaf.Leaf, name, now); (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := leaf.Leaf
	if life := c.NotAfter.Sub(c.NotBefore); life > 397*24*time.Hour {
		t.Errorf("it is valid for %v", life)
	}
	if verify(c, "box", now.Add(-time.Hour)) != nil || verify(c, "box", now.Add(390*24*time.Hour)) != nil {
		t.Error("it isn't valid for the time that it says")
	}
	if years := a.cert.NotAfter.Sub(now).Hours() / 24 / 365; years < 9.9 || years > 10.1 || a.key.Curve != elliptic.P256() {
		t.Errorf("the authority is valid for %f years", years)
	}
	later, err := a.Issue("renamed", addresses("10.0.0.1"), now)
	if err != nil || verify(later.Leaf, "10.0.0.1", now) != nil || verify(later.Leaf, "renamed.local", now) != nil || verify(later.Leaf, "renamed", now) == nil {
		t.Errorf("after the host got another name: %v, %v", later.Leaf.DNSNames, err)
	}
	last, err := a.Issue("box", addresses("10.0.0.1"), a.cert.NotAfter.Add(-time.Hour))
	if err != nil || last.Leaf.NotAfter.After(a.cert.NotAfter) {
		t.Errorf("it outlives the authority: %v, %v", last.Leaf.NotAfter, err)
	}

	// With the key, others could sign what they like; devices refuse it.
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*x509.Certificate){
		"bank.example.org": func(c *x509.Certificate) { c.DNSNames = []string{"bank.example.org"} },
		"notlocal":         func(c *x509.Certificate) { c.DNSNames = []string{"notlocal"} },
		"8.8.8.8":          func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(8, 8, 8, 8)} },
		"2a00::1":          func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.ParseIP("2a00::1")} },
	} {
		forged := template("x", now, now.Add(time.Hour))
		change(forged)
		der, err := x509.CreateCertificate(rand.Reader, forged, a.cert, key.Public(), a.key)
		if err != nil {
			t.Fatal(err)
		}
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		if err := verify(cert, name, now); err == nil {
			t.Errorf("a client takes a certificate for %s", name)
		}
	}
}

// openssl reads and verifies it, too: it is what others have.
func TestOpenSSL(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("openssl is not installed")
	}
	a, err := create("box", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := a.Issue("box", addresses("192.168.1.7"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	ca, der := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "leaf.der")
	if err := errors.Join(os.WriteFile(ca, a.PEM(), 0o600), os.WriteFile(der, leaf.Certificate[0], 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, as := range [][]string{{"-verify_ip", "192.168.1.7"}, {"-verify_hostname", "box.local"}} {
		args := append([]string{"verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", ca}, as...)
		if out, err := exec.Command(openssl, append(args, der)...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v: %s", as, err, out)
		}
	}
}

// The profile is a property list with the certificate; the same certificate gives the same one.
func TestProfile(t *testing.T) {
	a, err := create("box", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	p := a.Profile()
	if !bytes.Equal(p, a.Profile()) {
		t.Error("a second profile is another one")
	}
	var list struct {
		Dict struct {
			Key   []string `xml:"key"`
			Array struct {
				Dict struct {
					Key    []string `xml:"key"`
					String []string `xml:"string"`
					Data   string   `xml:"data"`
				} `xml:"dict"`
			} `xml:"array"`
		} `xml:"dict"`
	}
	if err := xml.Unmarshal(p, &list); err != nil {
		t.Fatal(err)
	}
	der, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(list.Dict.Array.Dict.Data), ""))
	if err != nil || !bytes.Equal(der, a.cert.Raw) || !slices.Contains(list.Dict.Array.Dict.String, "com.apple.security.root") {
		t.Errorf("%v: %s", err, p)
	}
	if plutil, err := exec.LookPath("plutil"); err == nil {
		c := exec.Command(plutil, "-lint", "-")
		c.Stdin = bytes.NewReader(p)
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
}
