package sessionkey

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/place"
	"github.com/burin-dev/burin/transcript/sealed"
)

// drawer is a keyring in memory, or one that answers nothing.
type drawer struct {
	entries map[string]string
	broken  bool
	asked   int
}

func (d *drawer) Get(service, name string) (string, error) {
	d.asked++
	v, ok := d.entries[service+"/"+name]
	if d.broken || !ok {
		return "", errors.New("no such entry")
	}
	return v, nil
}

func (d *drawer) Set(service, name, value string) error {
	if d.broken {
		return errors.New("it is locked")
	}
	d.entries[service+"/"+name] = value
	return nil
}

// sealer are the keys of a home, a keyring and some variables.
func sealer(home string, ring *drawer, env map[string]string) *Keys {
	return &Keys{Ring: ring, Getenv: func(name string) string {
		if name == "BURIN_HOME" {
			return home
		}
		return env[name]
	}}
}

// sealedFile encrypts a session with the key that p has for new ones.
func sealedFile(t *testing.T, p *Keys) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	draft, err := place.New(path, p.For(t.Context()), true, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = draft.Append([]byte(`{"type":"session","version":3,"id":"a","cwd":"/"}`), []byte(`{"type":"message","id":"b","message":{"role":"user","content":"hello"}}`))
	if err := errors.Join(err, draft.Publish(), draft.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

func opens(t *testing.T, p *Keys, path string) error {
	l, _, err := place.Read(t.Context(), path, p.For(t.Context()), transcript.Options{})
	if err != nil {
		return err
	}
	return l.Close()
}

// The key of a keyring is made once, is found by the next process, and asked for once.
func TestKeyOfTheKeyring(t *testing.T) {
	home, ring := t.TempDir(), &drawer{entries: map[string]string{}}
	first := sealer(home, ring, nil)
	a, b := sealedFile(t, first), sealedFile(t, first)
	if len(ring.entries) != 1 {
		t.Fatalf("entries of the keyring: %d", len(ring.entries))
	}
	next := sealer(home, ring, nil)
	ring.asked = 0
	for _, path := range []string{a, b, sealedFile(t, next)} {
		if err := opens(t, next, path); err != nil {
			t.Error(err)
		}
	}
	if ring.asked != 1 {
		t.Errorf("the keyring was asked %d times", ring.asked)
	}
	data, err := os.ReadFile(filepath.Join(home, keyNote))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range ring.entries {
		if strings.Contains(string(data), secret) {
			t.Error("the key lies in a file")
		}
	}
	// Another home has another key.
	if err := opens(t, sealer(t.TempDir(), ring, nil), a); !errors.As(err, new(Error)) {
		t.Errorf("in another home: %v", err)
	}
	ring.broken = true
	if err := opens(t, sealer(home, ring, nil), a); !errors.As(err, new(Error)) {
		t.Errorf("with a keyring that is broken: %v", err)
	}
}

// Where there is no keyring, or a person wants none, it is a pass phrase; sessions of
// both kinds are opened by one process.
func TestPassphraseOfSessions(t *testing.T) {
	home, ring := t.TempDir(), &drawer{entries: map[string]string{}}
	ofRing := sealedFile(t, sealer(home, ring, nil))
	env := map[string]string{Variable: "correct horse"}
	p := sealer(home, ring, env)
	ofPhrase := sealedFile(t, p)
	for _, path := range []string{ofRing, ofPhrase} {
		if err := opens(t, p, path); err != nil {
			t.Error(err)
		}
	}
	for name, p := range map[string]*Keys{
		"wrong": sealer(home, ring, map[string]string{Variable: "wrong"}),
		"none":  sealer(home, ring, nil), // and nobody to ask
	} {
		err := opens(t, p, ofPhrase)
		if _, keyless := errors.AsType[Error](err); err == nil || keyless == (name == "wrong") || errors.Is(err, sealed.ErrKey) != (name == "wrong") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := opens(t, sealer(t.TempDir(), &drawer{broken: true}, nil), ofPhrase); err == nil || !strings.Contains(err.Error(), Variable) {
		t.Errorf("without a keyring and a terminal: %v", err)
	}
}

// A pass phrase that is mistyped makes no session that nothing opens, wherever it comes
// from.
func TestPassphraseIsChecked(t *testing.T) {
	home := t.TempDir()
	of := func(phrase string) *Keys {
		return sealer(home, &drawer{broken: true}, map[string]string{Variable: phrase})
	}
	first := sealedFile(t, of("right"))
	begin := func(p *Keys) error {
		draft, err := place.New(filepath.Join(t.TempDir(), "s.jsonl"), p.For(t.Context()), true, nil)
		if err == nil {
			err = draft.Close()
		}
		return err
	}
	if err := begin(of("rihgt")); err == nil || !strings.Contains(err.Error(), Variable+": this is not the pass phrase") || !strings.Contains(err.Error(), phraseCheck) {
		t.Errorf("a typo in the variable: %v", err)
	}
	// Who opened a session of another pass phrase does not begin one with it.
	other := sealedFile(t, sealer(t.TempDir(), &drawer{broken: true}, map[string]string{Variable: "other"}))
	p := of("other")
	if err := opens(t, p, other); err != nil {
		t.Fatal(err)
	}
	if err := begin(p); err == nil {
		t.Error("a pass phrase of another session is taken")
	}
	again := of("right")
	if err := opens(t, again, first); err != nil {
		t.Fatal(err)
	}
	if err := begin(again); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(home, phraseCheck+".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A script with a pass phrase does not take the keyring from the person who uses that.
func TestPassphraseBesideTheKeyring(t *testing.T) {
	home, ring := t.TempDir(), &drawer{entries: map[string]string{}}
	sealedFile(t, sealer(home, ring, nil))
	sealedFile(t, sealer(home, ring, map[string]string{Variable: "right"}))
	sealedFile(t, sealer(home, ring, nil)) // and nobody is asked
	if _, err := sealer(home, ring, map[string]string{Variable: "rihgt"}).For(t.Context())(place.Wanted{}); err == nil {
		t.Error("a typo in the variable makes a session")
	}
}

// Of several that come first together one notes its pass phrase, and the others are
// held to it.
func TestPassphraseOfTheFirst(t *testing.T) {
	check := filepath.Join(t.TempDir(), phraseCheck)
	cost := sealed.Cost{Time: 1, Memory: 64, Lanes: 1}
	right, err := sealed.Passphrase("right", cost)
	if err != nil {
		t.Fatal(err)
	}
	typo, err := sealed.Passphrase("rihgt", cost)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeCheck(check, right); err != nil {
		t.Fatal(err)
	}
	if err := writeCheck(check, typo); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second one: %v", err)
	}
	p := sealer(filepath.Dir(check), &drawer{broken: true}, nil)
	if err := p.checkPhrase(check, right); err != nil {
		t.Error(err)
	}
	if err := p.checkPhrase(check, typo); err == nil || !strings.Contains(err.Error(), "not the pass phrase") {
		t.Errorf("%v", err)
	}
}
