package people_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/chat/passkey"
	"github.com/burin-dev/burin/internal/chat/passkey/passkeytest"
	"github.com/burin-dev/burin/internal/chat/people"
)

var (
	box      = passkey.Party{ID: "box.example.org", Origin: "https://box.example.org"}
	atHome   = people.From{Address: "192.0.2.7", Agent: "Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0"}
	elsehere = people.From{Address: "192.0.2.8"}
)

// key adds a passkey of somebody.
func (h *here) key(person, name string) *passkeytest.Key {
	h.t.Helper()
	ctx, by := h.t.Context(), people.By{Person: person, Address: "192.0.2.7"}
	o, err := h.Passkeys().Begin(ctx, by, person, password, box)
	h.must(err)
	k := passkeytest.New(h.t, passkeytest.EdDSA, box)
	_, err = h.Passkeys().Add(ctx, by, person, name, atHome.Agent, box, k.Make(o))
	h.must(err)
	return k
}

// request begins a sign-in.
func (h *here) request() passkey.Request {
	h.t.Helper()
	o, err := h.Passkeys().Request(h.t.Context(), box)
	h.must(err)
	return o
}

// signs signs in with a key.
func (h *here) signs(k *passkeytest.Key) (string, error) {
	return h.Passkeys().SignIn(h.t.Context(), box, k.Sign(h.request()), atHome)
}

func testPasskeys(t *testing.T, h *here) {
	ctx, p := t.Context(), h.Passkeys()
	ann, bob := h.join("ann", people.Member), h.join("bob", people.Member)
	by := people.By{Person: ann, Address: "192.0.2.7"}
	_, err := p.Begin(ctx, by, ann, "a wrong one", box)
	if !input(err, "password") {
		t.Errorf("without the password: %v", err)
	}
	hers, his := h.key(ann, " Laptop "), h.key(bob, "")
	list, err := p.List(ctx, ann)
	if err != nil || len(list) != 1 || list[0].Name != "Laptop" || list[0].Server != box.ID || !list[0].Used.IsZero() || !list[0].Created.Equal(h.clock()) {
		t.Fatalf("%+v, %v", list, err)
	}
	if list, err := p.List(ctx, bob); err != nil || list[0].Name != "Chrome on Linux" {
		t.Errorf("%+v, %v", list, err)
	}
	if one, err := h.Get(ctx, ann); err != nil || one.Passkeys != 1 {
		t.Errorf("%+v, %v", one, err)
	}
	// It signs in without a second factor, and says when.
	h.pass(time.Hour)
	secret, err := h.signs(hers)
	h.must(err)
	if who, _, err := h.Device(ctx, secret); err != nil || who.Person != ann {
		t.Errorf("%+v, %v", who, err)
	}
	if list, err := p.List(ctx, ann); err != nil || !list[0].Used.Equal(h.clock()) {
		t.Errorf("%+v, %v", list, err)
	}
	// One handle for all keys of a person, and another for each person; a key that is there is named.
	o, err := p.Begin(ctx, by, ann, password, box)
	if err != nil || string(o.User.ID) != string(hers.User) || string(his.User) == string(hers.User) || len(o.Exclude) != 1 || string(o.Exclude[0].ID) != string(hers.ID) {
		t.Errorf("%+v, %v", o, err)
	}
	if !strings.Contains(o.User.Name, "ann") || strings.Contains(string(o.User.ID), ann) {
		t.Errorf("%+v", o.User)
	}
	refused := func(what, log string, party passkey.Party, s passkey.Signed) {
		t.Helper()
		if _, err := p.SignIn(ctx, party, s, elsehere); !errors.Is(err, people.ErrPasskey) {
			t.Errorf("%s: %v", what, err)
		}
		all, err := h.Audit(ctx, "", 1)
		if err != nil || all[0].What != "signin.fail" || !strings.Contains(all[0].Detail, "passkey: "+log) || all[0].Address != "192.0.2.8" {
			t.Errorf("%s: the log has %+v, %v", what, all, err)
		}
		h.pass(time.Hour)
	}
	// Once only, here and on another server.
	again := hers.Sign(h.request())
	_, err = h.other().Passkeys().SignIn(ctx, box, again, atHome)
	h.must(err)
	refused("again", "the challenge was used already", box, again)
	late := hers.Sign(h.request())
	h.pass(11 * time.Minute)
	refused("late", "it took too long", box, late)
	other := passkey.Party{ID: "other.example.org", Origin: "https://other.example.org"}
	refused("another name", "it is for another name", other, hers.Sign(h.request()))
	elsewhere, err := p.Request(ctx, other)
	h.must(err)
	refused("a challenge of another name", "the challenge is for another name", box, hers.Sign(elsewhere))
	evil := hers.Sign(h.request())
	evil.ID = his.ID
	refused("another's id", "it is of somebody else", box, evil)
	evil = hers.Sign(h.request())
	evil.ID, evil.Response.User = his.ID, his.User
	refused("another's id and handle", "the signature is wrong", box, evil)
	evil = hers.Sign(h.request())
	evil.Response.User = nil
	refused("no handle", "it is of somebody else", box, evil)
	refused("a challenge of its own", "the challenge isn't of this server", box, hers.Sign(box.Request(make([]byte, 32))))
	o, err = p.Begin(ctx, by, ann, password, box)
	h.must(err)
	refused("a challenge for a new key", "the challenge is for a new key", box, hers.Sign(box.Request(o.Challenge)))
	unknown := passkeytest.New(t, passkeytest.EdDSA, box)
	unknown.User = hers.User
	refused("an unknown key", "it isn't known", box, unknown.Sign(h.request()))
	hers.Origin = "https://evil.example"
	refused("another origin", `the answer is for a page of "https://evil.example"`, box, hers.Sign(h.request()))
	hers.Origin = box.Origin
	hers.Counter = 5
	_, err = h.signs(hers)
	h.must(err)
	hers.Counter = 4
	refused("a copy", "the counter of the passkey went back", box, hers.Sign(h.request()))
	hers.Counter = 6
	h.must(h.Disable(ctx, owner, ann))
	refused("disabled", "the person is disabled", box, hers.Sign(h.request()))
	h.must(h.Enable(ctx, owner, ann))
	_, err = h.signs(hers)
	h.must(err)
	// A new key is for whom it was begun, once, and nobody else's.
	o, err = p.Begin(ctx, by, ann, password, box)
	h.must(err)
	k := passkeytest.New(t, passkeytest.EdDSA, box)
	made := k.Make(o)
	_, err = p.Add(ctx, people.By{Person: bob}, bob, "x", "", box, made)
	if !input(err, "credential") {
		t.Errorf("bob takes what ann began: %v", err)
	}
	for _, name := range []string{"a\nb", strings.Repeat("x", 65), "a\u202eb"} {
		if _, err := p.Add(ctx, by, ann, name, "", box, made); !input(err, "name") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := p.Add(ctx, by, ann, "x", "", other, made); !input(err, "credential") {
		t.Errorf("under another name: %v", err)
	}
	_, err = p.Add(ctx, by, ann, "Phone", "", box, made)
	h.must(err)
	if _, err := p.Add(ctx, by, ann, "Phone", "", box, made); !input(err, "credential") {
		t.Errorf("twice: %v", err)
	}
	o, err = p.Begin(ctx, people.By{Person: bob}, bob, password, box)
	h.must(err)
	if _, err := p.Add(ctx, people.By{Person: bob}, bob, "x", "", box, k.Make(o)); !input(err, "credential") {
		t.Errorf("a key that ann has: %v", err)
	}
	k.User = hers.User
	if _, err := p.Add(ctx, by, ann, "x", "", box, k.Make(passkey.Creation{Challenge: h.request().Challenge})); !input(err, "credential") {
		t.Errorf("a challenge for a sign-in: %v", err)
	}
	// Exported, without what isn't for people.
	account, err := h.Export(ctx, by, ann)
	data, wrong := json.Marshal(account)
	if err != nil || wrong != nil || len(account.Passkeys) != 2 || !strings.Contains(string(data), "Phone") || strings.Contains(string(data), "public") {
		t.Errorf("%s, %v, %v", data, err, wrong)
	}
	// Removed, by herself, by an admin, and with her.
	list, err = p.List(ctx, ann)
	h.must(err)
	phone := list[slices.IndexFunc(list, func(k people.Passkey) bool { return k.Name == "Phone" })].ID
	h.is(p.Remove(ctx, people.By{Person: bob}, bob, phone), people.ErrUnknown)
	h.must(p.Remove(ctx, by, ann, phone))
	h.is(p.Remove(ctx, by, ann, phone), people.ErrUnknown)
	refused("a removed key", "it isn't known", box, k.Sign(h.request()))
	for _, also := range []people.Reset{{}, {SecondFactor: true}, {Passkeys: true}} {
		link, err := h.Links().Reset(ctx, owner, ann, also)
		h.must(err)
		h.must(h.Links().ChoosePassword(ctx, link, password, atHome))
		hers.Counter++
		if _, err := h.signs(hers); (err != nil) != also.Passkeys {
			t.Errorf("after a reset with %+v: %v", also, err)
		}
	}
	h.must(h.Remove(ctx, owner, bob))
	refused("a person who is gone", "it isn't known", box, his.Sign(h.request()))
	var n int
	if err := h.db.QueryRow(ctx, `SELECT count(*) FROM {passkeys}`).Scan(&n); err != nil || n != 0 {
		t.Errorf("%d passkeys are left, %v", n, err)
	}
	if log, err := h.Audit(ctx, ann, 100); err != nil || !slices.ContainsFunc(log, func(e people.Entry) bool { return e.What == "passkey.add" && e.Detail == "Phone" }) ||
		!slices.ContainsFunc(log, func(e people.Entry) bool { return e.What == "passkey.remove" && e.Detail == "Phone" }) {
		t.Errorf("%+v, %v", log, err)
	}
}

// Of many at the same time with one answer one signs in; who tries too often has to wait; a
// person has only so many keys.
func testPasskeyLimits(t *testing.T, h *here) {
	ctx, p := t.Context(), h.Passkeys()
	ann, err := h.Add(ctx, owner, "ann", "", people.Member) // without a password, which takes long to hash
	h.must(err)
	k := h.key(ann, "Laptop")
	signed := k.Sign(h.request())
	var won atomic.Int32
	var work sync.WaitGroup
	for range 5 {
		work.Go(func() {
			if _, err := p.SignIn(ctx, box, signed, atHome); err == nil {
				won.Add(1)
			} else if _, wait := errors.AsType[people.WaitError](err); !wait && !errors.Is(err, people.ErrPasskey) {
				t.Error(err)
			}
		})
	}
	work.Wait()
	if won.Load() != 1 {
		t.Errorf("%d of 5 sign in with one answer", won.Load())
	}
	h.pass(24 * time.Hour)
	k.Origin = "https://evil.example"
	var wait people.WaitError
	for range 10 {
		if _, err := h.signs(k); errors.As(err, &wait) {
			break
		}
	}
	if wait.Wait < time.Second {
		t.Error("nobody has to wait")
	}
	k.Origin = box.Origin
	if _, err := h.signs(k); !errors.As(err, &wait) {
		t.Errorf("who is locked out signs in: %v", err)
	}
	h.pass(24 * time.Hour)
	_, err = h.signs(k)
	h.must(err)
	// The challenges that were used are forgotten when they are worth nothing.
	var n int
	if err := h.db.QueryRow(ctx, `SELECT count(*) FROM {spent}`).Scan(&n); err != nil || n != 1 {
		t.Errorf("%d used challenges, %v", n, err)
	}
	by := people.By{Person: ann}
	o, err := p.Begin(ctx, by, ann, password, box)
	h.must(err)
	for range 19 {
		h.key(ann, "more")
	}
	if _, err := p.Begin(ctx, by, ann, password, box); !input(err, "password") {
		t.Errorf("the 21st: %v", err)
	}
	if _, err := p.Add(ctx, by, ann, "x", "", box, passkeytest.New(t, passkeytest.EdDSA, box).Make(o)); !input(err, "credential") {
		t.Errorf("the 21st: %v", err)
	}
}
