package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/prose"
)

const (
	acmeAddress = ":443" // where the server listens with --acme unless a flag says it
	acmeHTTP    = ":80"  // where it answers the authority's questions by HTTP
	acmeFirst   = time.Minute
	acmeMost    = 2 * time.Hour // between tries that fail: authorities count them
)

// acmeCertificates are those of a public authority.
type acmeCertificates struct {
	names   []string
	manager *autocert.Manager

	mu   sync.Mutex
	wait time.Time // until then nothing is asked for
	err  error     // why
}

// listenACME listens with certificates that an authority such as Let's Encrypt issues.
func listenACME(ctx context.Context, p *program, paths config.Paths, o serveOptions) (*listening, error) {
	c := &acmeCertificates{}
	for _, name := range o.acme {
		name = strings.ToLower(strings.TrimSuffix(name, "."))
		if problem := publicName(name); problem != "" {
			return nil, usage("--acme: no authority certifies %q: %s", name, problem)
		}
		c.names = append(c.names, name)
	}
	directory := cmp.Or(o.acmeDirectory, autocert.DefaultACMEDirectory)
	if u, err := url.Parse(directory); err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, usage("--acme-directory: %q is not an address that begins with https://", directory)
	}
	c.manager = &autocert.Manager{
		Prompt: autocert.AcceptTOS, // --acme says that its user accepts them
		Cache:  autocert.DirCache(filepath.Join(paths.Data, "acme")), Email: o.acmeEmail, HostPolicy: c.may,
		Client: &acme.Client{DirectoryURL: directory, UserAgent: "burin/" + version()},
	}
	l, err := listenAt(ctx, o.address)
	if err != nil {
		return nil, err
	}
	at := "https://" + c.names[0]
	if _, port, err := net.SplitHostPort(l.Addr().String()); err == nil && port != "443" {
		at += ":" + port
	}
	t := c.manager.TLSConfig()
	t.MinVersion, t.GetCertificate = tls.VersionTLS12, c.get
	on := &listening{Listener: tls.NewListener(l, t), at: at, names: func(host string) bool { return slices.Contains(c.names, strings.ToLower(host)) }}
	on.begun = func(ctx context.Context) {
		var open net.Listener
		if o.acmeHTTP != "" {
			if open, err = listenAt(ctx, o.acmeHTTP); err != nil {
				p.warn(fmt.Sprintf("the authority can't ask by HTTP (%v): it must reach port 443 of %s", err, c.names[0]))
			}
		}
		var work sync.WaitGroup
		if open != nil {
			s := &http.Server{Handler: c.manager.HTTPHandler(http.NotFoundHandler()), ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second, MaxHeaderBytes: 8 << 10}
			defer context.AfterFunc(ctx, func() { _ = s.Close() })() // nothing of it matters any more
			work.Go(func() { _ = s.Serve(open) })                    // until it is closed
		}
		work.Go(func() { c.obtain(ctx, p) })
		work.Wait()
	}
	return on, nil
}

// publicName says why a name can't have a public certificate; "" is that it can.
func publicName(name string) string {
	if _, err := netip.ParseAddr(name); err == nil {
		return "it is an address; use --lan, or a certificate of your own"
	}
	if strings.Contains(name, "*") {
		return "it has a wildcard; name each host"
	}
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" || strings.Contains(name, "..") || strings.HasPrefix(name, ".") {
		return "it is not a host name; write other scripts in their xn-- form"
	}
	switch last := name[strings.LastIndexByte(name, '.')+1:]; last {
	case name, "local", "lan", "internal", "localhost", "arpa", "home", "":
		return "it is a name of a local network; use --lan"
	}
	return ""
}

// may says whether a certificate is asked for. autocert asks when a client comes; after a failure, the
// next clients wait for [acmeCertificates.obtain], as an authority takes only some tries an hour.
func (c *acmeCertificates) may(_ context.Context, host string) error {
	if name, _, err := net.SplitHostPort(host); err == nil { // of a question by HTTP
		host = name
	}
	if !slices.Contains(c.names, host) {
		return fmt.Errorf("this server is not %q", host)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().Before(c.wait) {
		return c.err
	}
	return nil
}

func (c *acmeCertificates) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if hello.ServerName == "" && !slices.Contains(hello.SupportedProtos, acme.ALPNProto) {
		named := *hello
		named.ServerName = c.names[0]
		hello = &named
	}
	return c.manager.GetCertificate(hello)
}

// obtain gets the certificates of all names, so that the first client need not wait and a failure is
// said at once. What fails is tried again after a while.
func (c *acmeCertificates) obtain(ctx context.Context, p *program) {
	for _, name := range c.names {
		for pause := acmeFirst; ctx.Err() == nil; pause = min(2*pause, acmeMost) {
			_, err := c.manager.GetCertificate(&tls.ClientHelloInfo{
				ServerName: name, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
				SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256}, SupportedCurves: []tls.CurveID{tls.CurveP256},
			})
			if err == nil {
				break
			}
			pause = max(pause, retryAfter(err))
			err = acmeProblem(name, err)
			c.mu.Lock()
			c.wait, c.err = time.Now().Add(pause), err
			c.mu.Unlock()
			p.warn(fmt.Sprintf("%v. burin tries again at %s", err, time.Now().Add(pause).Format("15:04")))
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
		}
	}
}

// retryAfter is how long an authority wants us to wait; 0 if it doesn't say.
func retryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*acme.Error](err); ok {
		if wait, limited := acme.RateLimit(e); limited {
			return max(wait, time.Hour)
		}
	}
	return 0
}

// acmeProblem says in plain words why there is no certificate, and what to do.
func acmeProblem(name string, err error) error {
	var found []*acme.Error
	if e, ok := errors.AsType[*acme.AuthorizationError](err); ok {
		for _, inner := range e.Errors {
			if one, ok := errors.AsType[*acme.Error](inner); ok {
				found = append(found, one)
			}
		}
	}
	if e, ok := errors.AsType[*acme.Error](err); ok {
		found = append(found, e)
	}
	for _, e := range found {
		detail := prose.Short(prose.Inline(e.Detail), 300)
		switch strings.TrimPrefix(e.ProblemType, "urn:ietf:params:acme:error:") {
		case "rateLimited":
			return fmt.Errorf("no certificate for %s: the authority has given out too many, or has had too many failures: %s", name, detail)
		case "rejectedIdentifier", "unsupportedIdentifier", "caa":
			return fmt.Errorf("no certificate for %s: the authority refuses the name: %s", name, detail)
		case "dns", "connection", "tls", "unauthorized", "incorrectResponse":
			return fmt.Errorf("no certificate for %s: the authority could not reach this server: %s. "+pointHere, name, detail)
		case "invalidContact", "unsupportedContact":
			return fmt.Errorf("no certificate for %s: the authority refuses the address of --acme-email: %s", name, detail)
		case "externalAccountRequired", "userActionRequired":
			return fmt.Errorf("no certificate for %s: the authority wants an account that burin can't make: %s", name, detail)
		}
		err = fmt.Errorf("%s", cmp.Or(detail, e.ProblemType))
	}
	if strings.Contains(err.Error(), "no viable challenge") { // autocert has tried all, and doesn't say what came of them
		return fmt.Errorf("no certificate for %s: the authority could not reach this server. "+pointHere, name)
	}
	return fmt.Errorf("no certificate for %s: %w", name, err)
}

// pointHere is what an authority needs to reach a server.
const pointHere = "The name must point to this machine, and port 443 (or 80) of it must be open to the internet"
