package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/burin-dev/burin/internal/chat/gremlin"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/host/words"
)

// storageFor serves the clients of GremlinOFA from the server's database; nil: the settings don't say so.
func storageFor(p *program, settings *config.Config, db *store.DB) (*gremlin.API, error) {
	if !settings.Server.Storage {
		return nil, nil
	}
	origins, err := storageOrigins(settings.Server.StorageOrigins)
	if err != nil {
		return nil, fmt.Errorf("server.storageOrigins: %w", err)
	}
	a := gremlin.NewAPI(gremlin.NewRecords(db))
	a.Tenants, a.Origins, a.Failed = gremlin.NewTenants(db), origins, tellsFailures(p)
	return a, nil
}

// tellsFailures tells whoever runs the server why it failed a client.
func tellsFailures(p *program) func(error) {
	return func(err error) { p.warn(words.Line(err.Error())) }
}

// storageOrigins are the origins of addresses, as browsers send them.
func storageOrigins(given []string) (origins []string, err error) {
	for _, g := range given {
		g = strings.TrimSpace(g)
		u, err := url.Parse(g)
		switch {
		case g == "*" && len(given) == 1:
			return []string{"*"}, nil
		case g == "*":
			return nil, errors.New("* is all addresses, and stands alone")
		case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "", strings.Trim(u.Path, "/") != "", u.User != nil, u.RawQuery != "", u.Fragment != "":
			return nil, fmt.Errorf("%q is not an address such as https://chat.example.org", g)
		}
		origins = append(origins, u.Scheme+"://"+strings.ToLower(u.Host))
	}
	return origins, nil
}

const (
	storagePort = "3001"      // of the original
	storageFile = "./data.db" // the same
)

// serveStorage is the storage server of GremlinOFA and nothing else, in the place of the original: it has
// the same variables and the same file. It serves any tenant, and asks for no password.
func serveStorage(ctx context.Context, p *program, o serveOptions) error {
	if o.cert != "" || o.key != "" {
		return usage("--storage-only doesn't go with --tls-cert: put a proxy that ends TLS before it, or set server.storage and use burin serve")
	}
	address := o.address
	if address == serveAddress {
		port := p.getenv("PORT")
		if port == "" {
			port = storagePort
		}
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return usage("PORT: %q is not a port", port)
		}
		address = net.JoinHostPort("127.0.0.1", port)
	}
	if err := onlyHere(address); err != nil {
		return err
	}
	var given []string
	if text := p.getenv("CORS_ORIGIN"); text != "" {
		given = slices.DeleteFunc(strings.Split(text, ","), func(s string) bool { return strings.TrimSpace(s) == "" })
	}
	origins, err := storageOrigins(given)
	if err != nil {
		return usage("CORS_ORIGIN: %w", err)
	}
	file := p.getenv("DB_PATH")
	if file == "" {
		file = storageFile
	}
	records, err := gremlin.OpenRecords(ctx, file)
	if err != nil {
		return err
	}
	defer records.Close() //nolint:errcheck // nothing is written any more
	a := gremlin.NewAPI(records)
	a.Origins, a.Failed = origins, tellsFailures(p)
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("something listens at %s already: set PORT to another port", address)
	}
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	at := "http://" + l.Addr().String()
	if o.check {
		fmt.Fprintf(p.out, "burin can serve at %s.\n", at)
		return l.Close()
	}
	fmt.Fprintf(p.err, "burin serves the storage of GremlinOFA at %s, from %s.\n", at, words.ShortPath(file))
	fmt.Fprintln(p.out, at)
	h := &http.Server{Handler: a, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	done := make(chan error, 1)
	go func() { done <- h.Serve(l) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := h.Shutdown(late); err != nil {
		_ = h.Close() // whoever still waits is cut off
	}
	return nil
}

// createFile writes a file that isn't there yet, which only its owner reads. It is whole or not there.
func createFile(path string, write func(*os.File) error) error {
	if _, err := os.Lstat(path); err == nil {
		return usage("%s is there already: choose another name", words.ShortPath(path))
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".burin-*") // with the mode 0600
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error says more
	}
	return err
}
