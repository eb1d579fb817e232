package secret

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/burin-dev/burin/internal/pacetest"
)

// keyFiles are private keys as their programs write them.
func keyFiles(t testing.TB) map[string]string {
	t.Helper()
	keys := map[string]string{}
	add := func(name, kind string, der []byte, err error) {
		if err != nil {
			t.Fatal(err)
		}
		keys[name] = string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	add("pkcs1.pem", "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rsaKey), nil)
	der, err := x509.MarshalPKCS8PrivateKey(rsaKey)
	add("pkcs8.pem", "PRIVATE KEY", der, err)
	keys["encrypted.pem"] = strings.Replace(keys["pkcs1.pem"], "-----\n", "-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,"+strings.ToUpper(sampleOf(5, "{h32}"))+"\n\n", 1)
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err = x509.MarshalECPrivateKey(ecKey)
	add("ec.pem", "EC PRIVATE KEY", der, err)
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]crypto.PrivateKey{"id_rsa": rsaKey, "id_ed25519": edKey, "id_ecdsa": ecKey} {
		block, err := ssh.MarshalPrivateKey(key, "me@host")
		if err != nil {
			t.Fatal(err)
		}
		// ssh-keygen breaks lines at 70 characters, Go's encoder at 64.
		keys[name] = fmt.Sprintf("-----BEGIN %s-----\n%s-----END %[1]s-----\n", block.Type, wrap(base64.StdEncoding.EncodeToString(block.Bytes), 70))
	}
	keys["pgp.asc"] = "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: x 1.2\n\n" + wrap(sampleOf(6, "{b900}"), 64) + "=aB3d\n-----END PGP PRIVATE KEY BLOCK-----\n"
	keys["putty.ppk"] = "PuTTY-User-Key-File-3: ssh-rsa\nEncryption: none\nComment: c\nPublic-Lines: 2\n" + wrap("AAAA"+sampleOf(7, "{b100}"), 64) +
		"Private-Lines: 3\n" + wrap(sampleOf(8, "{b160}"), 64) + "Private-MAC: " + sampleOf(9, "{h64}") + "\n"
	return keys
}

func wrap(s string, width int) string {
	var b strings.Builder
	for len(s) > width {
		b.WriteString(s[:width] + "\n")
		s = s[width:]
	}
	return b.String() + s + "\n"
}

// keyLines are the lines of a key file that are secret.
func keyLines(name, text string) []string {
	if name == "putty.ppk" {
		_, text, _ = strings.Cut(text, "Private-Lines: 3\n")
	}
	return slices.DeleteFunc(strings.Split(text, "\n"), func(l string) bool { return l == "" || strings.ContainsAny(l, "-:") })
}

// views are how tools and programs show a text.
var views = map[string]func(text string) string{
	"as it is":  func(s string) string { return s },
	"cat -n":    lined("%6d\t%s"),
	"read":      lined("%d|%s"),
	"hashline":  lined("%d:k3|%s"),
	"nl":        lined("     %d  %s"),
	"grep -n":   lined("%d:%s"),
	"grep path": lined("deploy/tls-2/k.pem:%d:%s"),
	"grep -C":   lined("deploy/k.pem-%d-%s"),
	"diff +":    prefixed("+"),
	"diff -":    prefixed("-"),
	"diff":      prefixed(" "),
	"quoted":    prefixed("> "),
	"comment":   prefixed("# "),
	"log":       lined("2024-05-01T10:00:%02d host app[3]: %s"),
	"yaml": func(s string) string {
		return "tls:\n  key: |\n    " + strings.ReplaceAll(s, "\n", "\n    ") + "\nnext: 1\n"
	},
	"crlf":     func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
	"json":     func(s string) string { b, _ := json.Marshal(map[string]string{"key": s}); return string(b) },
	"php json": func(s string) string { b, _ := json.Marshal(s); return strings.ReplaceAll(string(b), "/", `\/`) },
	"code": func(s string) string {
		return "key := \"" + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\\n\" +\n\t\"") + "\\n\"\n"
	},
	"read of json": func(s string) string {
		b, _ := json.Marshal(map[string]string{"text": lined("%d|%s")(s)})
		return string(b)
	},
}

func lined(format string) func(string) string {
	return func(s string) string {
		var b strings.Builder
		for i, line := range strings.Split(strings.TrimSuffix(s, "\n"), "\n") {
			fmt.Fprintf(&b, format+"\n", i+1, line)
		}
		return b.String()
	}
}

func prefixed(p string) func(string) string {
	return func(s string) string { return p + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n"+p) + "\n" }
}

// checkLines fails if a line of a key stands in out, or 16 characters of one.
func checkLines(t *testing.T, out string, lines []string) {
	t.Helper()
	out = strings.ReplaceAll(out, `\/`, "/")
	for _, line := range lines {
		for i := 0; i == 0 || i+16 <= len(line); i++ {
			if part := line[i:min(len(line), i+16)]; len(part) >= 4 && !strings.Contains(boilerplate, part) && !strings.Contains(part, "AAAA") && strings.Contains(out, part) {
				t.Errorf("%q of a key stays in:\n%s", part, out)
				return
			}
		}
	}
}

func TestKeysInEveryView(t *testing.T) {
	for name, text := range keyFiles(t) {
		for view, show := range views {
			t.Run(name+"/"+view, func(t *testing.T) {
				shown, v := show(text), detectVault(t)
				out := v.Hide(shown)
				if strings.Contains(view, "json") {
					out = string(v.HideJSON([]byte(shown)))
					if !json.Valid([]byte(out)) {
						t.Fatalf("not JSON: %s", out)
					}
				} else if back := v.Restore(out); back != shown {
					t.Fatalf("restored %q, want %q", back, shown)
				}
				checkLines(t, out, keyLines(name, text))
				if again := v.Hide(out); again != out {
					t.Errorf("hidden twice: %q, once %q", again, out)
				}
				if before, after := strings.Count(shown, "\n"), strings.Count(out, "\n"); strings.Contains(shown, "1|") && before != after {
					t.Errorf("of %d numbered lines %d are there", before, after)
				}
				for _, size := range []int{1, 64, 1000} {
					v := detectVault(t)
					if got := write(t, v, shown, func() int { return size }); got != v.Hide(shown) || !strings.Contains(view, "json") && got != out {
						t.Errorf("in writes of %d: %q", size, got)
					}
				}
			})
		}
	}
}

// Of a key whose file was looked at, no part is shown in any way; of another one, no
// whole lines.
func TestPartsOfKeys(t *testing.T) {
	for name, text := range keyFiles(t) {
		all := strings.SplitAfter(text, "\n")
		lines := keyLines(name, strings.Replace(text, "=aB3d\n", "", 1)) // which is a checksum
		encoded := base64.StdEncoding.EncodeToString([]byte(text))
		parts := map[string]string{
			"without the first line": strings.Join(all[1:], ""),
			"without the last line":  strings.Join(all[:len(all)-2], ""),
			"base64":                 encoded,
			"base64 -w76":            wrap(encoded, 76),
			"kubeconfig":             "users:\n- user:\n    client-key-data: " + encoded + "\n",
		}
		learned := map[string]string{
			"fold -w 30":      wrap(strings.Join(lines, ""), 30),
			"one line":        strings.Join(lines, ""),
			"spaces":          strings.Join(lines, " "),
			"cut -c5-":        lines[0][4:],
			"last lines":      strings.Join(lines[len(lines)-2:], "\n"),
			"words around":    "the key is " + lines[0] + ", I think",
			"base64 in a mid": base64.StdEncoding.EncodeToString([]byte("x " + text)),
		}
		if len(all) > 8 {
			parts["lines 4 to 6"] = strings.Join(all[3:6], "")
			parts["grep of lines 4 to 6"] = lined("k.pem:%d:%s")(strings.Join(all[3:6], ""))
			parts["one line of grep"] = "keys/a.b/k.pem:5:" + all[4]
		}
		for part, shown := range learned {
			t.Run(name+"/learned/"+part, func(t *testing.T) {
				v := detectVault(t)
				v.Learn(text)
				out := v.Hide(shown)
				checkLines(t, out, slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return len(l) < 16 }))
				if back := v.Restore(out); back != shown {
					t.Errorf("restored %q, want %q", back, shown)
				}
			})
		}
		for part, shown := range parts {
			t.Run(name+"/"+part, func(t *testing.T) {
				v := detectVault(t)
				if name == "putty.ppk" && len(shown) > len(text) {
					v.Learn(text) // it doesn't begin like other keys
				}
				out := v.Hide(shown)
				checkLines(t, out, lines)
				if strings.Contains(part, "base64") || part == "kubeconfig" {
					checkLines(t, out, []string{encoded[len(encoded)/2:]})
				}
				if back := v.Restore(out); back != shown {
					t.Errorf("restored %q, want %q", back, shown)
				}
				if again := v.Hide(out); again != out {
					t.Errorf("hidden twice: %q, once %q", again, out)
				}
			})
		}
	}
}

func TestOtherPrivateKeys(t *testing.T) {
	d, p, k := sampleOf(1, "{a43}"), sampleOf(2, "{a86}"), sampleOf(3, "{a43}")
	v := detectVault(t)
	for name, text := range map[string]string{
		"jwk":         fmt.Sprintf(`{"kty":"RSA","e":"AQAB","n":"%s","d":"%s","p":"%s"}`, sampleOf(4, "{a86}"), d, p),
		"pretty jwk":  fmt.Sprintf("{\n  \"p\": \"%s\",\n  \"d\": \"%s\",\n  \"kty\": \"EC\"\n}", p, d),
		"nested jwk":  fmt.Sprintf(`{"jwk":"{\"d\":\"%s\",\"kty\":\"oct\",\"k\":\"%s\"}"}`, d, p),
		"oct":         fmt.Sprintf(`{"k":"%s","kty":"oct","p":"%s","d":"%s"}`, k, p, d),
		"wireguard":   "[Interface]\nPrivateKey = " + d + "=\n# " + p,
		"openssl":     "privateExponent:\n    00:" + strings.Join(slices.Repeat([]string{"a7:1c"}, 7), ":") + ":\n    3f:90\nprime1:\n",
		"SSH2 format": "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: \"x\"\n" + wrap(d+p, 70) + "---- END SSH2 ENCRYPTED PRIVATE KEY ----\n",
	} {
		out := v.Hide(text)
		if strings.Contains(out, d) || name != "wireguard" && strings.Contains(out, p[:60]) || strings.Contains(out, "a7:1c") || strings.Contains(out, "3f:90") || v.Restore(out) != text {
			t.Errorf("%s: %s", name, out)
		}
		if name == "jwk" && !strings.Contains(out, sampleOf(4, "{a86}")) {
			t.Errorf("the public part is hidden: %s", out)
		}
	}
}

// Certificates, public keys and data that looks alike stay.
func TestPublicArmorStays(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(4), NotAfter: now, DNSNames: []string{"a.example.org", "b.example.org"}}, &x509.Certificate{SerialNumber: big.NewInt(4)}, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	texts := map[string]string{
		"certificate": cert,
		"PGP message": "-----BEGIN PGP MESSAGE-----\n\n" + wrap(sampleOf(3, "{b500}"), 64) + "-----END PGP MESSAGE-----\n",
		"SSH2":        "---- BEGIN SSH2 PUBLIC KEY ----\nComment: \"x\"\n" + wrap(sampleOf(4, "{b300}"), 70) + "---- END SSH2 PUBLIC KEY ----\n",
	}
	for name, text := range texts {
		for view, show := range views {
			v, shown := detectVault(t), show(text)
			if out := v.Hide(shown); out != shown {
				t.Errorf("%s, %s: %s", name, view, out)
			}
			if out := write(t, v, shown, func() int { return 50 }); out != shown {
				t.Errorf("%s, %s, as a stream: %s", name, view, out)
			}
		}
		v := detectVault(t)
		v.Learn(text)
		if part := strings.Join(strings.SplitAfter(text, "\n")[3:5], ""); v.Hide(part) != part {
			t.Errorf("%s: a part of a file that was read: %s", name, v.Hide(part))
		}
	}
	v := detectVault(t)
	for _, p := range []string{
		"{b76}\n{b76}\n{b76}\n{b20}==\n", `integrity="sha384-{b64}" crossorigin`, "sha384-{b64}\n", "mod v1.2.3 h1:{b43}=\nmod v1.2.3/go.mod h1:{b43}=\n",
		`  "integrity": "sha512-{b86}=="` + "\n", "{h64}  file.tar.gz\n", "{h64}\n", `"mappings": "AAAA,{b64};{b70}"` + "\n", "func{a60}()\n", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b43} me\n",
		"x={b64};y={b70}\n", "//# sourceMappingURL=data:application/json;base64,{b2000}\n", "name: {b64}\n", "https://host/{b64}\n",
	} {
		for seed := range uint64(30) {
			if text := sampleOf(seed, p); v.Hide(text) != text {
				t.Errorf("%q becomes %q", text, v.Hide(text))
			}
		}
	}
}

// No file of the standard library without a private key in it has one.
func TestOrdinaryFilesHaveNoKeys(t *testing.T) {
	pacetest.Costly(t)
	n := 0
	for _, dir := range []string{"go.sum", "encoding", "image", "net", "crypto", "compress", "time", "html", "vendor"} {
		err := filepath.WalkDir(filepath.Join(goRoot(t), "src", dir), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(path)
			if err != nil || strings.Contains(string(b), "PRIVATE KEY") || strings.Contains(string(b), "ORTVA PREGVSVPNGR") { // certificates in ROT13
				return err
			}
			n++
			for _, f := range detectVault(t).Report(string(b)) {
				if f.Kind == keyKind {
					t.Errorf("%s: %q", path, b[f.Offset:f.Offset+f.Length])
				}
			}
			return nil
		})
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	t.Logf("%d files", n)
}
