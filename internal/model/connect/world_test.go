package connect_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/model/connect"
	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/bedrock"
	"github.com/burin-dev/burin/llm/google"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/llmtest/conformance"
	"github.com/burin-dev/burin/llm/openai"
	"github.com/burin-dev/burin/llm/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a user: their folders and their environment.
type world struct {
	home string
	env  map[string]string
	o    connect.Options
}

func newWorld(t testing.TB) *world {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home) // .env files are looked for there
	return &world{home: home, env: map[string]string{"HOME": home}}
}

// models writes models.yml.
func (w *world) models(t testing.TB, text string) {
	t.Helper()
	write(t, filepath.Join(w.home, "models.yml"), text)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (w *world) tryOpen() (*connect.Models, error) {
	o := w.o
	o.ConfigDir, o.DataDir, o.CacheDir, o.WorkDir, o.UserHome = w.home, w.home, filepath.Join(w.home, "cache"), w.home, w.home
	o.LookupEnv = func(name string) (string, bool) { v, ok := w.env[name]; return v, ok }
	o.Keyring = credential.NoKeyring()
	return connect.Open(o)
}

func (w *world) open(t testing.TB) *connect.Models {
	t.Helper()
	m, err := w.tryOpen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func add(t testing.TB, m *connect.Models, provider string, keys ...credential.Secret) (ids []int64) {
	t.Helper()
	for _, key := range keys {
		id, _, err := m.Keys.Add(context.Background(), provider, "", key)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

func info(t testing.TB, m *connect.Models, id int64) credential.Info {
	t.Helper()
	list, err := m.Keys.List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(i credential.Info) bool { return i.ID == id })
	if i < 0 {
		t.Fatalf("no credential %d", id)
	}
	return list[i]
}

func lookup(t testing.TB, m *connect.Models, ref string) *catalog.Model {
	t.Helper()
	provider, id, _ := llm.SplitRef(ref)
	model, ok := m.Catalog.Registry.Lookup(provider, id)
	if !ok {
		t.Fatalf("no model %s", ref)
	}
	return model
}

func client(t testing.TB, m *connect.Models, model *catalog.Model, session string) llm.Client {
	t.Helper()
	c, err := m.Client(model, session)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// request asks something of the model, with a tool that wants its schema kept.
func request(model *catalog.Model) *llm.Request {
	return &llm.Request{
		Model: &model.Model, Messages: []llm.Message{{Role: llm.RoleUser, Content: []llm.Block{llm.Text{Text: "hello"}}}},
		Tools: []llm.Tool{{
			Name: "look", Description: "looks", Strict: true,
			Schema: json.RawMessage(`{"type":"object","properties":{"at":{"type":"string"}},"required":["at"],"additionalProperties":false}`),
		}},
	}
}

// ask reads a whole answer and checks the order of its events.
func ask(t testing.TB, c llm.Client, model *catalog.Model) (string, error) {
	t.Helper()
	return read(t, c.Stream(context.Background(), request(model)))
}

func read(t testing.TB, s llm.Stream) (string, error) {
	t.Helper()
	var events []llm.Event
	for ev := range llm.Events(s) {
		events = append(events, ev)
	}
	conformance.CheckEvents(t, events)
	if len(events) == 0 {
		return "", nil
	}
	last := events[len(events)-1]
	text := ""
	for _, b := range last.Message.Content {
		if part, ok := b.(llm.Text); ok {
			text += part.Text
		}
	}
	if last.Type == llm.EventError {
		return text, last.Message.Error
	}
	return text, nil
}

// formats are the server halves of all wire formats.
func formats() []wire.Server {
	return []wire.Server{anthropic.Server{}, openai.CompletionsServer{}, openai.ResponsesServer{}, google.Server{}, bedrock.Server{}}
}

// serve plays turns on loopback in all formats.
func serve(t testing.TB, turns ...llmtest.Turn) *llmtest.Server {
	t.Helper()
	all := formats()
	s, err := llmtest.Serve(all[0], llmtest.Script{Turns: turns}, all[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func say(text string) llmtest.Turn { return llmtest.Turn{Events: llmtest.Say(text)} }

func says(text string, n int) []llmtest.Turn { return slices.Repeat([]llmtest.Turn{say(text)}, n) }

func refuse(e llm.Error) llmtest.Turn { return llmtest.Turn{Fault: llmtest.Fault{Error: &e}} }

// seen is a request as it reached a vendor.
type seen struct {
	host, url string
	header    http.Header
	body      string
}

// vendors stand in for every host on the internet, over TLS and through a
// proxy: the way a company's network does it. Each request is answered by a
// scripted model, or with 404 where the path is of no format that it plays.
type vendors struct {
	mu   sync.Mutex
	seen []seen
}

func (w *world) vendors(t testing.TB) *vendors {
	t.Helper()
	v := &vendors{}
	model := llmtest.New(llmtest.Script{Turns: says("hello", 100)}, formats()...)
	t.Cleanup(model.Close)
	authority, sign := newAuthority(t)
	back := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		v.mu.Lock()
		v.seen = append(v.seen, seen{r.Host, r.URL.RequestURI(), r.Header.Clone(), string(body)})
		v.mu.Unlock()
		model.ServeHTTP(rw, r)
	}))
	back.TLS = &tls.Config{GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) { return sign(h.ServerName) }}
	back.StartTLS()
	proxy := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(rw, "only CONNECT", http.StatusMethodNotAllowed)
			return
		}
		tunnel(rw, back.Listener.Addr().String())
	}))
	t.Cleanup(func() {
		proxy.Close()
		back.Close()
	})
	w.env["HTTPS_PROXY"], w.env["NODE_EXTRA_CA_CERTS"] = proxy.URL, authority
	return v
}

func tunnel(rw http.ResponseWriter, to string) {
	rw.WriteHeader(http.StatusOK)
	near, buffered, err := http.NewResponseController(rw).Hijack()
	if err != nil {
		return
	}
	defer near.Close()
	far, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer far.Close()
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = io.Copy(far, buffered)
		far.Close()
	})
	_, _ = io.Copy(near, far)
	near.Close()
	wg.Wait()
}

// newAuthority gives the PEM of a certificate authority and what makes the
// certificates of hosts.
func newAuthority(t testing.TB) (authority string, sign func(host string) (*tls.Certificate, error)) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), func(host string) (*tls.Certificate, error) {
		leaf := &x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: []string{host}, NotAfter: time.Now().Add(time.Hour)}
		der, err := x509.CreateCertificate(rand.Reader, leaf, template, &key.PublicKey, key)
		return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
	}
}

// one is the only request so far; it is forgotten.
func (v *vendors) one(t testing.TB) seen {
	t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.seen) != 1 {
		t.Fatalf("%d requests, want one: %v", len(v.seen), v.seen)
	}
	s := v.seen[0]
	v.seen = nil
	return s
}

// carries says whether a text stands anywhere in the request.
func (s seen) carries(text string) bool {
	if strings.Contains(s.url+s.body, text) {
		return true
	}
	for _, values := range s.header {
		if strings.Contains(strings.Join(values, "\n"), text) {
			return true
		}
	}
	return false
}
