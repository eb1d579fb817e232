// Package certificate is a certificate authority for one local network: phones and other computers
// install it once, and then reach this machine over HTTPS, which browsers ask for before they let
// a page use the camera, passkeys or notifications.
//
// Whoever had the authority's key could pretend to be other servers for the devices that trust it.
// So it is valid only for private addresses and for names of local networks, which devices check
// themselves, and its key is in a file that only its owner can read.
package certificate

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/platform/filelock"
	"github.com/burin-dev/burin/internal/platform/smallfile"
)

// How long certificates are valid.
const (
	authorityYears = 10
	leafTime       = 397 * 24 * time.Hour // browsers take no longer ones
	early          = 24 * time.Hour       // before now: clocks differ
	// Renew is how long before its end a certificate is made again.
	Renew = 30 * 24 * time.Hour
)

// Authority issues certificates.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Open reads the authority in a file, and makes one for this host if there is none or it has expired.
func Open(path, host string) (*Authority, error) {
	return filelock.Once(path, read, missing, func() (*Authority, error) {
		a, err := create(host, time.Now())
		if err != nil {
			return nil, err
		}
		secret, err := x509.MarshalPKCS8PrivateKey(a.key)
		if err != nil {
			return nil, err
		}
		return a, smallfile.Replace(path, append(a.PEM(), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})...))
	})
}

var errExpired = errors.New("the authority has expired")

// missing reports whether there is no authority that could be used.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errExpired) }

// Read reads the certificate of the authority in a file, which clients on this machine trust. The error
// is [fs.ErrNotExist] if there is none.
func Read(path string) (*x509.Certificate, error) {
	a, err := read(path)
	if err != nil {
		return nil, err
	}
	return a.cert, nil
}

func read(path string) (*Authority, error) {
	data, err := smallfile.Read(path, smallfile.Note)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(data, data)
	if err != nil {
		return nil, fmt.Errorf("read the certificate authority in %s: %w; delete it for a new one, which devices must install again", path, err)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || !pair.Leaf.IsCA {
		return nil, fmt.Errorf("%s is no certificate authority of burin's: delete it for a new one, which devices must install again", path)
	}
	if time.Now().After(pair.Leaf.NotAfter) {
		return nil, errExpired
	}
	return &Authority{pair.Leaf, key}, nil
}

// networks are those of the addresses that the authority is for.
var networks = []string{
	"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8", "169.254.0.0/16", "100.64.0.0/10", "fc00::/7", "fe80::/10", "::1/128",
}

// Private reports whether an address is one that the authority is for.
func Private(a netip.Addr) bool {
	a = a.Unmap()
	// 100.64.0.0/10 is for carriers, and for private networks such as Tailscale.
	return a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64}), 10).Contains(a)
}

// create makes an authority for a host and for what is private.
func create(host string, now time.Time) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := template("burin on "+label(host), now, now.AddDate(authorityYears, 0, 0))
	t.IsCA, t.BasicConstraintsValid, t.MaxPathLenZero = true, true, true
	t.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	t.PermittedDNSDomainsCritical = true
	t.PermittedDNSDomains = []string{"localhost", "local", "lan", "home.arpa"}
	if h := label(host); h != "" {
		t.PermittedDNSDomains = append(t.PermittedDNSDomains, h)
	}
	for _, n := range networks {
		_, ipnet, err := net.ParseCIDR(n)
		if err != nil {
			return nil, err
		}
		t.PermittedIPRanges = append(t.PermittedIPRanges, ipnet)
	}
	// Names of other kinds aren't for servers: none are permitted.
	t.PermittedEmailAddresses, t.PermittedURIDomains = []string{"invalid"}, []string{"invalid"}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return &Authority{cert, key}, err
}

// label is the name of a host as certificates and Bonjour have it: "" if it can't be one.
func label(host string) string {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	for _, c := range host {
		if c != '-' && c != '.' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return ""
		}
	}
	return host
}

func template(name string, now, until time.Time) *x509.Certificate {
	serial := make([]byte, 16)
	_, _ = rand.Read(serial) // never fails
	return &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(serial), Subject: pkix.Name{CommonName: name, Organization: []string{"burin"}},
		NotBefore: now.Add(-early), NotAfter: until, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
}

// Issue makes a certificate for the names of a host on local networks, and for addresses. What the
// authority isn't for is left out, as a name that the host got later.
func (a *Authority) Issue(host string, addrs []netip.Addr, now time.Time) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	until := now.Add(leafTime - early)
	if until.After(a.cert.NotAfter) {
		until = a.cert.NotAfter
	}
	t := template("burin", now, until)
	t.KeyUsage = x509.KeyUsageDigitalSignature
	t.DNSNames = a.names(host)
	for _, addr := range addrs {
		if Private(addr) {
			t.IPAddresses = append(t.IPAddresses, addr.Unmap().AsSlice())
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der, a.cert.Raw}, PrivateKey: key, Leaf: leaf}, nil
}

// names are those of a host: also "box.local", which Bonjour gives it.
func (a *Authority) names(host string) []string {
	all := []string{"localhost"}
	host = label(host)
	if host == "" || host == "localhost" {
		return all
	}
	first, _, _ := strings.Cut(host, ".")
	for _, name := range []string{first + ".local", host} {
		for _, permitted := range a.cert.PermittedDNSDomains {
			if (name == permitted || strings.HasSuffix(name, "."+permitted)) && name != all[len(all)-1] {
				all = append(all, name)
				break
			}
		}
	}
	return all
}

// Certificate is that of the authority.
func (a *Authority) Certificate() *x509.Certificate { return a.cert }

// PEM is the authority's certificate as text.
func (a *Authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// Fingerprint is the SHA-256 of the authority's certificate, as devices show it: "AB:CD:…".
func (a *Authority) Fingerprint() string {
	sum := sha256.Sum256(a.cert.Raw)
	return strings.ReplaceAll(fmt.Sprintf("% X", sum[:]), " ", ":")
}

// Profile is the authority's certificate for Apple's devices, as a configuration profile.
func (a *Authority) Profile() []byte {
	sum := sha256.Sum256(a.cert.Raw)
	id := func(of byte) string { // the same for the same certificate: a second one replaces the first
		s := sha256.Sum256(append(sum[:], of))
		s[6], s[8] = s[6]&0x0f|0x80, s[8]&0x3f|0x80 // version 8: made by a rule of one's own
		return fmt.Sprintf("%X-%X-%X-%X-%X", s[:4], s[4:6], s[6:8], s[8:10], s[10:16])
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, profile, pem64(a.cert.Raw), xmlText(a.cert.Subject.CommonName), id(0), id(1), fmt.Sprintf("%x", sum[:8]))
	return b.Bytes()
}

// profile is a property list with one payload, a root certificate.
const profile = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>PayloadContent</key>
	<array>
		<dict>
			<key>PayloadType</key><string>com.apple.security.root</string>
			<key>PayloadVersion</key><integer>1</integer>
			<key>PayloadIdentifier</key><string>dev.burin.ca.%[5]s.certificate</string>
			<key>PayloadUUID</key><string>%[4]s</string>
			<key>PayloadDisplayName</key><string>%[2]s</string>
			<key>PayloadContent</key>
			<data>
%[1]s			</data>
		</dict>
	</array>
	<key>PayloadType</key><string>Configuration</string>
	<key>PayloadVersion</key><integer>1</integer>
	<key>PayloadIdentifier</key><string>dev.burin.ca.%[5]s</string>
	<key>PayloadUUID</key><string>%[3]s</string>
	<key>PayloadDisplayName</key><string>%[2]s</string>
	<key>PayloadDescription</key><string>Lets this device reach burin in your network over HTTPS. Valid for private addresses and local names only.</string>
</dict>
</plist>
`

// pem64 is data in base64, on lines.
func pem64(data []byte) string {
	text := pem.EncodeToMemory(&pem.Block{Type: "X", Bytes: data})
	lines := bytes.SplitAfter(text, []byte("\n"))
	return string(bytes.Join(lines[1:len(lines)-2], nil))
}

// xmlText is text between tags.
func xmlText(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a builder takes everything
	return b.String()
}
