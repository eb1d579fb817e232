package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/host/words"
)

// fileCertificate is that of a server, read again when its files change, as when it was renewed.
type fileCertificate struct {
	cert, key string // files

	mu     sync.Mutex
	now    *tls.Certificate
	leaf   *x509.Certificate
	stamps [2]time.Time // of the files
	looked time.Time
}

// lookAgain is how often the files are looked at.
const lookAgain = 5 * time.Second

// read reads the files. Where new ones are wrong, the certificate before them stays.
func (c *fileCertificate) read(now time.Time) error {
	if c.now != nil && now.Sub(c.looked) < lookAgain {
		return nil
	}
	c.looked = now
	var stamps [2]time.Time
	for i, file := range []string{c.cert, c.key} {
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		stamps[i] = info.ModTime()
	}
	if c.now != nil && stamps == c.stamps {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return fmt.Errorf("read the certificate in %s with the key in %s: %w", words.ShortPath(c.cert), words.ShortPath(c.key), err)
	}
	c.now, c.leaf, c.stamps = &pair, pair.Leaf, stamps
	return nil
}

// config is the server's half of TLS.
func (c *fileCertificate) config(warn func(string)) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if err := c.read(time.Now()); err != nil {
			warn(err.Error())
		}
		return c.now, nil
	}}
}

// names reports whether the certificate is for a name.
func (c *fileCertificate) names(host string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.leaf.VerifyHostname(host) == nil
}

// address is how clients name a server that listens at an address: the certificate's name where
// it listens at all of them.
func (c *fileCertificate) address(listening string) string {
	name, port, err := net.SplitHostPort(listening)
	if err != nil {
		return listening
	}
	if ip := net.ParseIP(name); ip != nil && c.names(name) {
		return listening
	}
	switch {
	case len(c.leaf.DNSNames) > 0:
		name = c.leaf.DNSNames[0]
	default:
		name = c.leaf.IPAddresses[0].String()
	}
	return net.JoinHostPort(name, port)
}

// tlsFiles are the files of a certificate, as flags name them. nil: without TLS.
func tlsFiles(cert, key string) (*fileCertificate, error) {
	if cert == "" && key == "" {
		return nil, nil
	}
	if cert == "" || key == "" {
		return nil, usage("--tls-cert and --tls-key go together")
	}
	c := &fileCertificate{cert: cert, key: key}
	if err := c.read(time.Now()); err != nil {
		return nil, err
	}
	if now := time.Now(); now.After(c.leaf.NotAfter) {
		return nil, fmt.Errorf("the certificate in %s has expired on %s: renew it", words.ShortPath(cert), c.leaf.NotAfter.Local().Format(time.DateOnly))
	}
	if len(c.leaf.DNSNames)+len(c.leaf.IPAddresses) == 0 {
		return nil, errors.New("the certificate names no host: it needs subject alternative names")
	}
	return c, nil
}
