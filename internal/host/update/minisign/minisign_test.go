package minisign_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/host/update/minisign"
)

// What the program minisign 0.11 has made.
const (
	theirContent = "some content\n"
	theirKey     = `untrusted comment: minisign public key A99531806E38461E
RWQeRjhugDGVqZZ/oNXEFQaifNab7U8RcNeDYX+TCrJo+Lu4NSYRlVdG
`
	theirSignature = `untrusted comment: signature from minisign secret key
RUQeRjhugDGVqXxrzjgG0HU3UtjULBoAbmZbE2YEyMHRlIRGbpBEsp8Ap4hl7W3nyRexNJv3f56giiJi6seDko4q48RQMXiGpgo=
trusted comment: a trusted comment
BMR+voMnC7v872I/o+zQPu7/wI13B6W61X4jy3bWTPOyWCdgTdxmeXo2UG4qcMj2gDjFgU2nb2xtqtIJdT5BCg==
`
	theirLegacySignature = `untrusted comment: signature from minisign secret key
RWQeRjhugDGVqQnahNZQJZ27WVxx4ESGRKFOgbCzwJs6jSH4EpUVZALf5XK0i0cJGwjRdHcA0kiMAxt+QcF205zolyTZSTHbKAU=
trusted comment: a trusted comment
7nn+ULjxvMqeEzGbZ7FT9idwHI0wAh4wn4AIzETLY7WzcGAJBAenohv9ynIrf+uVpmZXgCsCjvDQY2uco/vvBQ==
`
)

func keys(t *testing.T, text string) []minisign.PublicKey {
	t.Helper()
	k, err := minisign.ParseKeys(text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// seed is a private key.
func seed(t *testing.T, of byte) minisign.PrivateKey {
	t.Helper()
	k, err := minisign.ParseSeed(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{of}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestVerifyTheirs(t *testing.T) {
	their := keys(t, "# a comment\n\n"+theirKey)
	if len(their) != 1 || !strings.Contains(theirKey, their[0].String()) {
		t.Fatalf("keys %v", their)
	}
	comment, err := minisign.Verify(their, []byte(theirContent), []byte(theirSignature))
	if err != nil || comment != "a trusted comment" {
		t.Errorf("%q, %v", comment, err)
	}
	if _, err := minisign.Verify(their, []byte(theirContent), []byte(strings.ReplaceAll(theirSignature, "\n", "\r\n"))); err != nil {
		t.Errorf("with line ends of Windows: %v", err)
	}
	if _, err := minisign.Verify(their, []byte(theirContent), []byte(theirLegacySignature)); err == nil {
		t.Error("the older kind of signature passes")
	}
}

func TestTheyVerifyOurs(t *testing.T) {
	program, err := exec.LookPath("minisign")
	if err != nil {
		t.Skip("minisign is not installed")
	}
	file, key := filepath.Join(t.TempDir(), "f"), seed(t, 1)
	for name, text := range map[string]string{file: "content", file + ".minisig": string(key.Sign([]byte("content"), "a comment"))} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command(program, "-V", "-P", key.Public().String(), "-m", file).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Trusted comment: a comment") {
		t.Errorf("%v: %s", err, out)
	}
}

// No change of a signature, its comment or the content passes.
func TestVerifyRefuses(t *testing.T) {
	content, key := []byte("the sums"), seed(t, 1)
	file := key.Sign(content, "burin v0.1.0")
	ours := keys(t, seed(t, 2).Public().String()+"\n"+key.Public().String())
	if comment, err := minisign.Verify(ours, content, file); err != nil || comment != "burin v0.1.0" {
		t.Fatalf("%q, %v", comment, err)
	}
	if _, err := minisign.Verify(ours[:1], content, file); !errors.Is(err, minisign.ErrUnknownKey) {
		t.Errorf("another key: %v", err)
	}
	if _, err := minisign.Verify(nil, content, file); !errors.Is(err, minisign.ErrUnknownKey) {
		t.Errorf("no key: %v", err)
	}
	if _, err := minisign.Verify(ours, []byte("the sumz"), file); err == nil {
		t.Error("other content passes")
	}
	signed := bytes.IndexByte(file, '\n') + 1 // the first line is not
	for i := signed; i < len(file)-1; i++ {
		damaged := bytes.Clone(file)
		damaged[i] ^= 1
		if _, err := minisign.Verify(ours, content, damaged); err == nil {
			t.Errorf("byte %d may be changed: %s", i, damaged)
		}
	}
	for n := range len(file) - 1 {
		if _, err := minisign.Verify(ours, content, file[:n]); err == nil {
			t.Errorf("%d bytes are enough", n)
		}
	}
	// The id of our key with a signature by another.
	other := bytes.Split(seed(t, 2).Sign(content, "burin v0.1.0"), []byte("\n"))
	mine := bytes.Split(file, []byte("\n"))
	decode := func(b []byte) []byte {
		out, err := base64.StdEncoding.DecodeString(string(b))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	forged := append(decode(mine[1])[:10:10], decode(other[1])[10:]...)
	other[1] = []byte(base64.StdEncoding.EncodeToString(forged))
	if _, err := minisign.Verify(ours[1:], content, bytes.Join(other, []byte("\n"))); err == nil {
		t.Error("a signature by another key under the id of ours passes")
	}
}

func TestKeysAreStrict(t *testing.T) {
	for _, text := range []string{"x", "RWQ", theirSignature, base64.StdEncoding.EncodeToString(make([]byte, 42))} {
		if k, err := minisign.ParseKeys(text); err == nil {
			t.Errorf("%q is %v", text, k)
		}
	}
	for _, text := range []string{"", "x", "c2hvcnQ="} {
		if _, err := minisign.ParseSeed(text); err == nil || text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("the seed %q: %v", text, err)
		}
	}
}

func FuzzVerify(f *testing.F) {
	key, err := minisign.ParseSeed(base64.StdEncoding.EncodeToString(make([]byte, 32)))
	if err != nil {
		f.Fatal(err)
	}
	good := key.Sign([]byte("content"), "comment")
	f.Add([]byte("content"), good)
	f.Add([]byte(theirContent), []byte(theirSignature))
	f.Fuzz(func(t *testing.T, content, file []byte) {
		_, err := minisign.Verify([]minisign.PublicKey{key.Public()}, content, file)
		if err == nil && string(content) != "content" {
			t.Errorf("%q is a signature of %q", file, content)
		}
	})
}
