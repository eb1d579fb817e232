package secret_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/burin-dev/burin/internal/model/credential/secret"
)

func TestNothingPrintsTheValue(t *testing.T) {
	const value = "sk-canary-0123456789"
	type holder struct {
		Key  secret.Secret
		Map  map[string]secret.Secret
		List []secret.Secret
	}
	h := holder{Key: value, Map: map[string]secret.Secret{"k": value}, List: []secret.Secret{value}}
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t"} {
		fmt.Fprintf(&out, verb+"\n", h.Key)
		fmt.Fprintf(&out, verb+"\n", h)
		fmt.Fprintf(&out, verb+"\n", []any{h, h.Map, &h.Key})
	}
	fmt.Fprintln(&out, h.Key, errors.Join(fmt.Errorf("key %v", h.Key)))
	for _, encode := range []func(any) ([]byte, error){json.Marshal, yaml.Marshal} {
		b, err := encode(h)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(b)
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "key", h.Key, "holder", h)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "key", h.Key, "holder", h)
	out.WriteString(log.String())
	for _, leak := range []string{value, fmt.Sprintf("%x", value), "canary"} {
		if strings.Contains(out.String(), leak) {
			t.Errorf("%q leaked:\n%s", leak, out.String())
		}
	}
	if h.Key.Reveal() != value {
		t.Errorf("Reveal gives %q", h.Key.Reveal())
	}
}

func TestHint(t *testing.T) {
	for in, want := range map[secret.Secret]string{
		"":                     "…",
		"short-key":            "…",
		"sk-ant-0123456789abc": "…9abc",
	} {
		if got := in.Hint(); got != want {
			t.Errorf("Hint of %d bytes = %q, want %q", len(in), got, want)
		}
	}
}
