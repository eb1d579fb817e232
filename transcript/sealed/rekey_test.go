package sealed_test

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/sealed"
)

func TestRekey(t *testing.T) {
	below := session(t, key(t, 'a'), 5)
	s := seal(t, below, key(t, 'a'))
	if err := sealed.Rekey(s, key(t, 'b')); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append([]byte(`{"n":5}`)); err != nil {
		t.Fatal(err)
	}
	const want = "0 1 2 3 4 5"
	if got := numbers(t, s); got != want {
		t.Errorf("records %s after it", got)
	}
	if got := numbers(t, seal(t, below, key(t, 'b'))); got != want {
		t.Errorf("records %s with the new key", got)
	}
	if _, err := sealed.New(below, key(t, 'a')); !errors.Is(err, sealed.ErrKey) {
		t.Errorf("with the old key: %v", err)
	}
	fresh := new(transcript.Memory)
	s = seal(t, fresh, key(t, 'a'))
	if err := sealed.Rekey(s, key(t, 'b')); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append([]byte(`{"n":0}`)); err != nil {
		t.Fatal(err)
	}
	if got := numbers(t, seal(t, fresh, key(t, 'b'))); got != "0" {
		t.Errorf("records %s of a session that was empty", got)
	}
	if err := sealed.Rekey(fresh, key(t, 'b')); err == nil {
		t.Error("a session that is not sealed was")
	}
}

// failing is a store that can't be replaced.
type failing struct{ *transcript.Memory }

func (failing) Replace(iter.Seq[[]byte]) error { return errors.New("full") }

func TestRekeyFails(t *testing.T) {
	below := failing{session(t, key(t, 'a'), 2)}
	s := seal(t, below, key(t, 'a'))
	if err := sealed.Rekey(s, key(t, 'b')); err == nil {
		t.Fatal("it says nothing")
	}
	if got := numbers(t, s); got != "0 1" {
		t.Errorf("records %s after a failure", got)
	}
	if got := numbers(t, seal(t, below, key(t, 'a'))); got != "0 1" {
		t.Errorf("records %s with the old key", got)
	}
}

func TestKeyPrintsNothing(t *testing.T) {
	p, err := sealed.Passphrase("quince jelly", sealed.Cost{})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []sealed.Key{key(t, 'a'), p} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
			if said := fmt.Sprintf(verb, struct{ K sealed.Key }{k}); strings.Contains(said, "97") || strings.Contains(said, "6161") || strings.Contains(said, "quince") {
				t.Errorf("%s: %s", verb, said)
			}
		}
	}
}
