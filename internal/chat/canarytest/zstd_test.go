package canarytest

import (
	"encoding/base64"
	"io"
	"strings"
	"testing"
)

// A frame that the zstd program has made.
func TestZstd(t *testing.T) {
	frame, err := base64.StdEncoding.DecodeString("KLUv/QRoPQEA6HF1aW5jZSBqYW0gYW5kIG1vcmUgLCB0aGUgZW5kAgDdoSh222QCRS896w==")
	if err != nil {
		t.Fatal(err)
	}
	r, err := zstd(append(frame, "what comes after it"...))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Repeat("quince jam and more quince jam, ", 8) + "the end"
	if got, _ := io.ReadAll(r); string(got) != want { // it ends with an error, as what comes after it is no frame
		t.Errorf("%q", got)
	}
}
