package passkey_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/burin-dev/burin/internal/chat/passkey"
	"github.com/burin-dev/burin/internal/chat/passkey/passkeytest"
)

var (
	challenge = bytes.Repeat([]byte{7}, 64)
	party     = passkey.Party{ID: "burin.example.org", Origin: "https://burin.example.org"}
	user      = passkey.User{ID: bytes.Repeat([]byte{1}, 32), Name: "ann", DisplayName: "Ann"}
)

// made is a key that a server has.
func made(t testing.TB, kind passkeytest.Kind, flags byte) (*passkeytest.Key, passkey.Key) {
	t.Helper()
	k := passkeytest.New(t, kind, party)
	k.Flags |= flags
	is, err := party.Register(challenge, k.Make(party.Creation(challenge, user, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return k, is
}

// A key of each kind signs in, also when what it says went through JSON.
func TestKinds(t *testing.T) {
	t.Parallel()
	for _, kind := range []passkeytest.Kind{passkeytest.ES256, passkeytest.EdDSA, passkeytest.RS256} {
		for _, flags := range []byte{0, passkeytest.Synced, passkeytest.Synced | passkeytest.BackedUp} {
			k, is := made(t, kind, flags)
			if !bytes.Equal(is.ID, k.ID) || is.Synced != (flags != 0) || is.Counter != 0 {
				t.Errorf("%s: %+v", kind, is)
			}
			data, err := json.Marshal(k.Sign(party.Request(challenge)))
			if err != nil {
				t.Fatal(err)
			}
			var signed passkey.Signed
			if err := json.Unmarshal(data, &signed); err != nil {
				t.Fatal(err)
			}
			if _, err := party.Check(challenge, signed, is); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
			if got, err := passkey.ChallengeOf(signed.Response.ClientData); err != nil || !bytes.Equal(got, challenge) {
				t.Errorf("%s: the challenge is %x, %v", kind, got, err)
			}
			other, _ := made(t, kind, flags)
			other.ID = k.ID
			if _, err := party.Check(challenge, other.Sign(party.Request(challenge)), is); err == nil {
				t.Errorf("%s: another key with the same id signs in", kind)
			}
		}
	}
}

// What is wrong with an answer refuses it: when a key is made, and when it signs in.
func TestRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		what   string
		change func(k *passkeytest.Key)
	}{
		{"another origin", func(k *passkeytest.Key) { k.Origin = "https://burin.example.org.evil.example" }},
		{"http", func(k *passkeytest.Key) { k.Origin = "http://burin.example.org" }},
		{"another port", func(k *passkeytest.Key) { k.Origin += ":8443" }},
		{"another server's key", func(k *passkeytest.Key) { k.Party = "example.org" }},
		{"in a frame", func(k *passkeytest.Key) { k.Client = map[string]any{"crossOrigin": true} }},
		{"in a frame of", func(k *passkeytest.Key) { k.Client = map[string]any{"topOrigin": "https://evil.example"} }},
		{"another type", func(k *passkeytest.Key) { k.Client = map[string]any{"type": "payment.get"} }},
		{"another challenge", func(k *passkeytest.Key) {
			k.Client = map[string]any{"challenge": passkey.Bytes(bytes.Repeat([]byte{8}, 64))}
		}},
		{"no challenge", func(k *passkeytest.Key) { k.Client = map[string]any{"challenge": ""} }},
		{"a challenge that is no text", func(k *passkeytest.Key) { k.Client = map[string]any{"challenge": 7} }},
		{"long client data", func(k *passkeytest.Key) { k.Client = map[string]any{"x": string(make([]byte, 9000))} }},
		{"nobody was there", func(k *passkeytest.Key) { k.Flags &^= passkeytest.Present }},
		{"nobody was verified", func(k *passkeytest.Key) { k.Flags &^= passkeytest.Verified }},
		{"backed up, and not synced", func(k *passkeytest.Key) { k.Flags |= passkeytest.BackedUp }},
		{"something left over", func(k *passkeytest.Key) { k.More = []byte{0} }},
		{"no extensions", func(k *passkeytest.Key) { k.Flags |= passkeytest.HasMore }},
		{"extensions that are no map", func(k *passkeytest.Key) { k.Flags |= passkeytest.HasMore; k.More = []byte{0} }},
		{"too much data", func(k *passkeytest.Key) {
			k.Flags |= passkeytest.HasMore
			k.More = passkeytest.Map(passkeytest.Text("x"), passkeytest.Bytes(make([]byte, 9000)))
		}},
	} {
		k, is := made(t, passkeytest.EdDSA, 0)
		tt.change(k)
		if _, err := party.Check(challenge, k.Sign(party.Request(challenge)), is); err == nil {
			t.Errorf("%s: it signs in", tt.what)
		}
		k = passkeytest.New(t, passkeytest.EdDSA, party)
		tt.change(k)
		if _, err := party.Register(challenge, k.Make(party.Creation(challenge, user, nil))); err == nil {
			t.Errorf("%s: it is taken", tt.what)
		}
	}
	k, is := made(t, passkeytest.ES256, 0)
	if _, err := party.Check(nil, k.Sign(party.Request(nil)), is); err == nil {
		t.Error("an empty challenge is one")
	}
	for what, change := range map[string]func(*passkey.Signed){
		"changed data":      func(s *passkey.Signed) { s.Response.AuthData[36]++ },
		"changed signature": func(s *passkey.Signed) { s.Response.Signature[8]++ },
		"no signature":      func(s *passkey.Signed) { s.Response.Signature = nil },
		"another id":        func(s *passkey.Signed) { s.ID = []byte("another") },
		"short data":        func(s *passkey.Signed) { s.Response.AuthData = s.Response.AuthData[:36] },
		"client data that is no JSON": func(s *passkey.Signed) {
			s.Response.ClientData = append(s.Response.ClientData, '}')
		},
		"other client data": func(s *passkey.Signed) { s.Response.ClientData = append(s.Response.ClientData, ' ') },
		"a long signature":  func(s *passkey.Signed) { s.Response.Signature = make([]byte, 5000) },
	} {
		s := k.Sign(party.Request(challenge))
		change(&s)
		if _, err := party.Check(challenge, s, is); err == nil {
			t.Errorf("%s: it signs in", what)
		}
	}
	k.Flags |= passkeytest.Synced
	if _, err := party.Check(challenge, k.Sign(party.Request(challenge)), is); err == nil {
		t.Error("a key of one device is on several now")
	}
	m := passkeytest.New(t, passkeytest.ES256, party).Make(party.Creation(challenge, user, nil))
	m.ID = []byte("another")
	if _, err := party.Register(challenge, m); err == nil {
		t.Error("a key with two ids is taken")
	}
	s := k.Sign(party.Request(challenge))
	m.Response.ClientData = s.Response.ClientData
	if _, err := party.Register(challenge, m); err == nil {
		t.Error("a sign-in makes a key")
	}
	if _, err := party.Check(challenge, s, passkey.Key{ID: k.ID}); err == nil {
		t.Error("a key that is empty signs in")
	}
}

// The counter goes up, or is none.
func TestCounter(t *testing.T) {
	t.Parallel()
	k, is := made(t, passkeytest.ES256, 0)
	for _, tt := range []struct {
		had, now uint32
		good     bool
	}{{0, 0, true}, {0, 1, true}, {1, 2, true}, {5, 5, false}, {5, 4, false}, {5, 0, false}, {5, 1 << 31, true}} {
		k.Counter, is.Counter = tt.now, tt.had
		now, err := party.Check(challenge, k.Sign(party.Request(challenge)), is)
		if tt.good && (err != nil || now != tt.now) || !tt.good && !errors.Is(err, passkey.ErrCopied) {
			t.Errorf("%d after %d: %d, %v", tt.now, tt.had, now, err)
		}
	}
}

// A server is one party for each of its names, and none for an address.
func TestPartyOf(t *testing.T) {
	t.Parallel()
	for origin, want := range map[string]passkey.Party{
		"http://localhost:4647":          {ID: "localhost", Origin: "http://localhost:4647"},
		"https://Burin.Example.org":      {ID: "burin.example.org", Origin: "https://burin.example.org"},
		"https://burin.example.org:443":  {ID: "burin.example.org", Origin: "https://burin.example.org"},
		"https://burin.example.org:8443": {ID: "burin.example.org", Origin: "https://burin.example.org:8443"},
		"https://box.local:4647":         {ID: "box.local", Origin: "https://box.local:4647"},
	} {
		if got, err := passkey.PartyOf(origin); err != nil || got != want {
			t.Errorf("%s: %+v, %v", origin, got, err)
		}
	}
	for _, origin := range []string{"http://127.0.0.1:4647", "https://[::1]:4647", "https://10.0.0.7", "https://"} {
		if got, err := passkey.PartyOf(origin); !errors.Is(err, passkey.ErrAddress) {
			t.Errorf("%s: %+v, %v", origin, got, err)
		}
	}
}

// The options name the keys that a person has, ask for a verified user, and for no statement of
// the maker.
func TestOptions(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(party.Creation(challenge[:16], user, []passkey.Bytes{[]byte("one")}))
	if want := `{"rp":{"id":"burin.example.org","name":"burin"},"user":{"id":"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE","name":"ann","displayName":"Ann"},` +
		`"challenge":"BwcHBwcHBwcHBwcHBwcHBw","pubKeyCredParams":[{"type":"public-key","alg":-7},{"type":"public-key","alg":-8},{"type":"public-key","alg":-257}],"timeout":300000,` +
		`"excludeCredentials":[{"type":"public-key","id":"b25l"}],"authenticatorSelection":{"residentKey":"required","requireResidentKey":true,"userVerification":"required"},"attestation":"none"}`; err != nil || string(data) != want {
		t.Errorf("%s\n%s\n%v", data, want, err)
	}
	data, err = json.Marshal(party.Request(challenge[:16]))
	if want := `{"challenge":"BwcHBwcHBwcHBwcHBwcHBw","timeout":300000,"rpId":"burin.example.org","userVerification":"required"}`; err != nil || string(data) != want {
		t.Errorf("%s\n%s\n%v", data, want, err)
	}
}

// Keys and attestations in forms that no authenticator writes are refused.
func TestCBOR(t *testing.T) {
	t.Parallel()
	k := passkeytest.New(t, passkeytest.EdDSA, party)
	m := k.Make(party.Creation(challenge, user, nil))
	// register takes another attestation for the key.
	register := func(attestation []byte) error {
		m := m
		m.Response.Attestation = attestation
		_, err := party.Register(challenge, m)
		return err
	}
	whole := m.Response.Attestation
	if _, err := party.Register(challenge, m); err != nil {
		t.Fatal(err)
	}
	for n := range len(whole) {
		if register(whole[:n]) == nil {
			t.Fatalf("the first %d of %d bytes are taken", n, len(whole))
		}
	}
	text, bytesOf, mapOf, num := passkeytest.Text, passkeytest.Bytes, passkeytest.Map, passkeytest.Int
	deep := num(0)
	for range 20 {
		deep = append([]byte{0x81}, deep...)
	}
	// The item with the data, which is the last one.
	data := whole[bytes.Index(whole, []byte("authData"))+len("authData"):]
	with := func(name string, is []byte) []byte {
		return mapOf(text("fmt"), text("none"), text(name), is, text("authData"), data)
	}
	if err := register(with("attStmt", append([]byte{0x81}, num(1)...))); err != nil {
		t.Fatal(err)
	}
	for what, a := range map[string][]byte{
		"something left over":    append(slices.Clone(whole), 0),
		"no map":                 text("authData"),
		"a key twice":            with("fmt", text("none")),
		"no data":                mapOf(text("fmt"), text("none")),
		"data that is text":      mapOf(text("authData"), text("x")),
		"a tag":                  with("attStmt", append([]byte{0xc0}, num(1)...)),
		"a length nobody knows":  {0xbf, 0xff},
		"deep":                   with("attStmt", deep),
		"a huge map":             {0xbb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"a huge list":            with("attStmt", []byte{0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}),
		"a long string":          mapOf(text("authData"), []byte{0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}),
		"a length that is short": with("attStmt", []byte{0x78, 4, 'n', 'o', 'n', 'e'}),
		"a list that never ends": with("attStmt", []byte{0x9f, 0xff}),
		"a reserved length":      {0xbc},
	} {
		if register(a) == nil {
			t.Errorf("%s: it is taken", what)
		}
	}
	point := bytes.Repeat([]byte{9}, 32)
	n := append([]byte{0x80}, bytes.Repeat([]byte{1}, 255)...)
	for what, public := range map[string][]byte{
		"no key":                   mapOf(),
		"no point":                 mapOf(num(1), num(2), num(3), num(-7), num(-1), num(1), num(-2), bytesOf(point), num(-3), bytesOf(point)),
		"a point of another curve": mapOf(num(1), num(2), num(3), num(-7), num(-1), num(2), num(-2), bytesOf(point), num(-3), bytesOf(point)),
		"half a point":             mapOf(num(1), num(2), num(3), num(-7), num(-1), num(1), num(-2), bytesOf(point)),
		"another algorithm":        mapOf(num(1), num(1), num(3), num(-9), num(-1), num(6), num(-2), bytesOf(point)),
		"another kind":             mapOf(num(1), num(4), num(3), num(-8), num(-1), num(6), num(-2), bytesOf(point)),
		"a short key":              mapOf(num(1), num(1), num(3), num(-8), num(-1), num(6), num(-2), bytesOf(point[1:])),
		"a short RSA key":          mapOf(num(1), num(3), num(3), num(-257), num(-1), bytesOf(n[:128]), num(-2), bytesOf([]byte{1, 0, 1})),
		"an even RSA key":          mapOf(num(1), num(3), num(3), num(-257), num(-1), bytesOf(append(slices.Clone(n[:255]), 2)), num(-2), bytesOf([]byte{1, 0, 1})),
		"the exponent 1":           mapOf(num(1), num(3), num(3), num(-257), num(-1), bytesOf(n), num(-2), bytesOf([]byte{1})),
		"an even exponent":         mapOf(num(1), num(3), num(3), num(-257), num(-1), bytesOf(n), num(-2), bytesOf([]byte{2})),
		"a huge exponent":          mapOf(num(1), num(3), num(3), num(-257), num(-1), bytesOf(n), num(-2), bytesOf([]byte{1, 0, 0, 0, 1})),
		"a huge number":            mapOf(num(1), []byte{0x1b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}),
		"text":                     mapOf(num(1), text("x")),
		"a long key":               mapOf(num(1), bytesOf(make([]byte, 2000))),
		"something left over":      append(slices.Clone(k.Public()), 0),
	} {
		signed := k.Sign(party.Request(challenge))
		if _, err := party.Check(challenge, signed, passkey.Key{ID: k.ID, Public: public}); err == nil {
			t.Errorf("%s: it signs in", what)
		}
	}
	if _, err := party.Check(challenge, k.Sign(party.Request(challenge)), passkey.Key{ID: k.ID, Public: k.Public()}); err != nil {
		t.Error(err)
	}
	// Statements of the maker are read over, extensions too.
	k.Flags, k.More = k.Flags|passkeytest.HasMore, mapOf(text("credProps"), mapOf(text("rk"), []byte{0xf5}))
	m = k.Make(party.Creation(challenge, user, nil))
	if _, err := party.Register(challenge, m); err != nil {
		t.Error(err)
	}
	data = m.Response.Attestation[bytes.Index(m.Response.Attestation, []byte("authData"))+8:]
	m.Response.Attestation = append([]byte{0xa3}, slices.Concat(text("fmt"), text("packed"),
		text("attStmt"), mapOf(text("alg"), num(-7), text("sig"), bytesOf([]byte("x")), text("x5c"), append([]byte{0x81}, bytesOf(make([]byte, 700))...)), text("authData"), data)...)
	if _, err := party.Register(challenge, m); err != nil {
		t.Errorf("an attestation that wasn't asked for: %v", err)
	}
}

// Nothing that a browser sends breaks the reader, and what it takes has the shape of a key.
func FuzzRegister(f *testing.F) {
	for _, kind := range []passkeytest.Kind{passkeytest.ES256, passkeytest.EdDSA} {
		k := passkeytest.New(f, kind, party)
		m := k.Make(party.Creation(challenge, user, nil))
		f.Add([]byte(m.Response.Attestation), []byte(k.ID))
	}
	client := passkeytest.New(f, passkeytest.EdDSA, party).Make(party.Creation(challenge, user, nil)).Response.ClientData
	f.Fuzz(func(t *testing.T, attestation, id []byte) {
		m := passkey.Made{ID: id}
		m.Response.ClientData, m.Response.Attestation = client, attestation
		is, err := party.Register(challenge, m)
		if err == nil && (!bytes.Equal(is.ID, id) || len(id) == 0 || len(id) > 1023 || len(is.Public) == 0) {
			t.Errorf("%+v", is)
		}
	})
}

// Nothing that a browser sends at a sign-in breaks the reader, and nothing but the key signs in.
func FuzzCheck(f *testing.F) {
	k := passkeytest.New(f, passkeytest.ES256, party)
	is, err := party.Register(challenge, k.Make(party.Creation(challenge, user, nil)))
	if err != nil {
		f.Fatal(err)
	}
	s := k.Sign(party.Request(challenge))
	f.Add([]byte(s.Response.ClientData), []byte(s.Response.AuthData), []byte(s.Response.Signature[:len(s.Response.Signature)-1]))
	f.Fuzz(func(t *testing.T, client, data, signature []byte) {
		s := passkey.Signed{ID: k.ID}
		s.Response.ClientData, s.Response.AuthData, s.Response.Signature = client, data, signature
		if _, err := party.Check(challenge, s, is); err == nil && !bytes.Equal(data, k.Sign(party.Request(challenge)).Response.AuthData) {
			t.Error("it signs in")
		}
	})
}
