package gremlin

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
	"sync"
	"testing"
)

const (
	keyV1  = "aaaqeayeaudaocajbifqydiob4ibceqtcqkrmfyydenbwha5dypq"
	keyV1b = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	keyV2  = "abcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrst"
)

// parsed are keys by their texts: it takes long to derive their tenants.
var parsed sync.Map

func mustKey(t testing.TB, text string) *Key {
	t.Helper()
	k, err := ParseKey(text)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := parsed.LoadOrStore(text, k)
	return again.(*Key)
}

// Vectors V1, V2, V3; CRY-01 to CRY-04, CRY-07, ACC-12, TRP-39.
func TestKey(t *testing.T) {
	counting := "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
	for text, want := range map[string]string{
		keyV1:                                counting,
		keyV1b:                               counting,
		" \n" + keyV1b[:43]:                  counting, // without padding
		keyV1b[:20] + "\r\n\t" + keyV1b[20:]: counting,
		keyV2:                                "00443214c74254b635cf84653a56d7c675be77df00443214c74254b635cf8465",
		strings.ToUpper(keyV2[:26]) + "  " + strings.ToUpper(keyV2[26:]) + "\n": "00443214c74254b635cf84653a56d7c675be77df00443214c74254b635cf8465",
	} {
		k := mustKey(t, text)
		if got := hex.EncodeToString(k.raw[:]); got != want {
			t.Errorf("%q is %s", text, got)
		}
		if again := mustKey(t, k.Text()); !again.Is(k) {
			t.Errorf("%q is written as %s, another key", text, k.Text())
		}
	}
	if got := mustKey(t, keyV1b).Text(); got != keyV1 {
		t.Errorf("V1 is written as %s", got)
	}
	if got := mustKey(t, keyV2).Text(); got != keyV2[:49]+"rsq" {
		t.Errorf("V2 is written as %s", got)
	}
	if mustKey(t, keyV1).Is(mustKey(t, keyV2)) {
		t.Error("two keys are the same")
	}
	for text, want := range map[string]string{
		"": "empty", " \n": "empty", keyV1[:51]: "31 bytes", keyV1 + "aa": "33 bytes", "AAAA": "2 bytes", "not a key!": "neither base32",
		"sekret+" + keyV1: "",
	} {
		if _, err := ParseKey(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "sekret") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzParseKey(f *testing.F) {
	f.Add(keyV1)
	f.Add(keyV1b)
	f.Fuzz(func(t *testing.T, text string) {
		k, err := ParseKey(text)
		if err == nil && !mustKey(t, k.Text()).Is(k) {
			t.Errorf("%q is written as %s", text, k.Text())
		}
	})
}

// Vectors V1, V2, V6, V7; CRY-16, CRY-17.
func TestDerivations(t *testing.T) {
	for text, want := range map[string]string{keyV1: ann, keyV1b: ann, keyV2: bob} {
		if got := mustKey(t, text).Tenant(); got != want {
			t.Errorf("the tenant of %s is %s", text, got)
		}
	}
	const hunter2 = "77b992fafd500ae3c92000d669ac73a641e7d441dda307db8132e111d3746d26e868d2724d61959fae178d8a6f0d05d83889dbcebf20b061a9f13ab8bee7e2e1"
	if got := PasswordHash("hunter2"); got != hunter2 {
		t.Errorf("the hash is %s", got)
	}
	if got := PasswordHash(""); got != "" {
		t.Errorf("no password is %q", got)
	}
	encoded := strings.TrimPrefix(basic(ann+":"+hunter2), "Basic ")
	if got := decodeLoosely(encoded); got != ann+":"+hunter2 {
		t.Errorf("the head says %q", got)
	}
}

// zipped is a record's plaintext as the application makes it where it compresses.
func zipped(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("GZ")
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Vectors V4 and V5; CRY-08 to CRY-13.
func TestRecordEncryption(t *testing.T) {
	k := mustKey(t, keyV1)
	for name, record := range map[string]string{
		"V4": "oKGio6SlpqeoqaqrnTodD3/6fweY9e/x8A439j1glH10jBw=",
		"V5": "oKGio6SlpqeoqaqroUJjpk3LAr9iZYXQrCyKisKe9RWSGO53ygkmhn8EcLTVv7Y+4a/8wik2AMaY",
	} {
		plain, err := k.open(record)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := inflate(plain); err != nil || string(got) != `{"a":1}` {
			t.Errorf("%s is %q %v", name, got, err)
		}
		if destroyed(plain) {
			t.Errorf("%s is called damaged", name)
		}
		sealed := k.seal(plain)
		again, err := k.open(sealed)
		if err != nil || !bytes.Equal(again, plain) || sealed == record || len(sealed) != len(record) {
			t.Errorf("%s is sealed as %s", name, sealed)
		}
		raw, _ := base64.StdEncoding.DecodeString(sealed)
		raw[len(raw)-1] ^= 1
		for _, bad := range []string{base64.StdEncoding.EncodeToString(raw), sealed[:len(sealed)-4], "", "AAAA", "__METADATA__", "not base64"} {
			if _, err := k.open(bad); !errors.Is(err, ErrKey) {
				t.Errorf("%q: %v", bad, err)
			}
		}
		if _, err := mustKey(t, keyV2).open(record); !errors.Is(err, ErrKey) {
			t.Errorf("another key: %v", err)
		}
	}
	// What a text decoder makes of a compressed record; TRP-09.
	text := strings.ToValidUTF8(string(zipped(t, strings.Repeat("äöü", 100))), "\ufffd")
	if !destroyed([]byte(text)) || !destroyed([]byte("GZ\ufffd")) || destroyed([]byte("GZ")) || destroyed([]byte("{\"a\":\"\ufffd\"}")) {
		t.Error("damage is not told")
	}
	if _, err := inflate([]byte(text)); err == nil {
		t.Error("a damaged record was read")
	}
	bomb := zipped(t, strings.Repeat("\x00", 1<<20+1))
	if _, err := inflateUpTo(bomb, 1<<20); err == nil || !strings.Contains(err.Error(), "more than 1 MB") {
		t.Errorf("a bomb: %v", err)
	}
	if text, err := inflateUpTo(bomb, 1<<20+1); err != nil || len(text) != 1<<20+1 {
		t.Errorf("as much as may be: %d bytes, %v", len(text), err)
	}
}
