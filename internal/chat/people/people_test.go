package people_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/store/storetest"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/pgtest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/remote"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

// here is a database with people, and a clock.
type here struct {
	*people.People
	t   *testing.T
	db  *store.DB
	now atomic.Pointer[time.Time]
}

func (h *here) clock() time.Time { return *h.now.Load() }

func (h *here) pass(d time.Duration) {
	then := h.clock().Add(d)
	h.now.Store(&then)
}

func start(t *testing.T, db *store.DB) *here {
	t.Helper()
	h := &here{t: t, db: db}
	began := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	h.now.Store(&began)
	h.People = h.other()
	return h
}

// keys are the same for all people.
type keys struct{}

func (keys) Ring(context.Context, string) (*vault.Ring, error) {
	return vault.NewRing(map[uint32][]byte{1: bytes.Repeat([]byte{7}, vault.KeySize)})
}

// other is another server on the same database.
func (h *here) other() *people.People {
	h.t.Helper()
	p := h.real()
	people.Cheap(p)
	return p
}

// real is one whose hashes of passwords cost what they cost a server.
func (h *here) real() *people.People {
	h.t.Helper()
	p, err := people.Open(h.t.Context(), h.db, keys{}, h.clock)
	if err != nil {
		h.t.Fatal(err)
	}
	return p
}

var owner = people.By{Person: people.OwnerID}

const password = "a fine pass phrase"

// join makes a person with a password.
func (h *here) join(name string, role people.Role) (id string) {
	h.t.Helper()
	code, err := h.Links().Invite(h.t.Context(), owner, role, h.clock().Add(time.Hour))
	if err != nil {
		h.t.Fatal(err)
	}
	secret, err := h.Links().Join(h.t.Context(), code, name, "", password, people.From{Address: "192.0.2.1"})
	if err != nil {
		h.t.Fatal(err)
	}
	who, _, err := h.Device(h.t.Context(), secret)
	if err != nil {
		h.t.Fatal(err)
	}
	return who.Person
}

func (h *here) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *here) is(err, want error) {
	h.t.Helper()
	if !errors.Is(err, want) {
		h.t.Errorf("the error is %v, not %v", err, want)
	}
}

// suite is what holds on both databases.
var suite = []struct {
	name string
	test func(t *testing.T, h *here)
}{
	{"people", testPeople},
	{"tokens", testTokens},
	{"devices", testDevices},
	{"passwords", testPasswords},
	{"failures are equal", testFailuresAreEqual},
	{"failures take equally long", testFailuresTakeEquallyLong},
	{"attempts at the same time", testAttemptsAtTheSameTime},
	{"address", testAddress},
	{"one wins", testOneWins},
	{"links", testLinks},
	{"second factor", testSecondFactor},
	{"passkeys", testPasskeys},
	{"passkey limits", testPasskeyLimits},
	{"identities", testIdentities},
	{"flows", testFlows},
	{"limits", testLimits},
	{"account", testAccount},
}

func TestPeople(t *testing.T) {
	storetest.Each(t, []store.Part{people.Part()}, func(t *testing.T, open func() *store.DB) {
		for _, one := range suite {
			t.Run(one.name, func(t *testing.T) { one.test(t, start(t, open())) })
		}
	})
}

func testPeople(t *testing.T, h *here) {
	ctx := t.Context()
	list, err := h.List(ctx)
	if err != nil || len(list) != 1 || list[0].ID != people.OwnerID || list[0].Role != people.Admin {
		t.Fatalf("%v, %v", list, err)
	}
	h.other() // adds no second owner
	id, err := h.Add(ctx, owner, "Ann", "", people.Member)
	h.must(err)
	_, err = h.Add(ctx, owner, "aNN", "", people.Member)
	h.is(err, people.ErrTaken)
	for _, name := range []string{"", "a b", "a\x00", "a\nb", "ä", "a/b", strings.Repeat("x", 65), "<b>"} {
		if _, err := h.Add(ctx, owner, name, "", people.Member); !input(err, "name") {
			t.Errorf("%q is a name: %v", name, err)
		}
		_, err := h.Named(ctx, name)
		h.is(err, people.ErrUnknown)
		h.is(h.SetRole(ctx, owner, name, people.Admin), people.ErrUnknown)
	}
	if one, err := h.Named(ctx, "ANN"); err != nil || one.ID != id || one.Name != "Ann" || one.Display != "Ann" || one.Password {
		t.Errorf("%+v, %v", one, err)
	}
	h.must(h.SetRole(ctx, owner, id, people.Viewer))
	if err := h.SetRole(ctx, owner, id, "king"); !input(err, "role") {
		t.Errorf("king: %v", err)
	}
	h.is(h.SetRole(ctx, owner, people.OwnerID, people.Member), people.ErrOwner)
	h.is(h.Disable(ctx, owner, people.OwnerID), people.ErrOwner)
	h.is(h.Remove(ctx, owner, people.OwnerID), people.ErrOwner)
	h.must(h.SetDisplay(ctx, owner, id, " Ann Other "))
	if err := h.SetDisplay(ctx, owner, id, "a\u202eb"); !input(err, "display") {
		t.Errorf("it turns the text around: %v", err)
	}
	if one, err := h.Get(ctx, id); err != nil || one.Role != people.Viewer || one.Display != "Ann Other" {
		t.Errorf("%+v, %v", one, err)
	}
	h.must(h.Remove(ctx, owner, id))
	_, err = h.Get(ctx, id)
	h.is(err, people.ErrUnknown)
	h.is(h.Remove(ctx, owner, id), people.ErrUnknown)
}

// input reports whether an error says what is wrong with a field.
func input(err error, field string) bool {
	e, ok := errors.AsType[people.InputError](err)
	return ok && e.Field == field
}

// What one process adds or removes, another knows at once; rights are within the role.
func testTokens(t *testing.T, h *here) {
	ctx, other := t.Context(), h.other()
	ann := h.join("ann", people.Member)
	secret, err := h.AddToken(ctx, owner, people.OwnerID, "one", remote.Steer, time.Time{})
	h.must(err)
	hers, err := h.AddToken(ctx, owner, ann, "one", remote.Own, h.clock().Add(time.Hour))
	h.must(err)
	_, err = h.AddToken(ctx, owner, ann, "one", remote.Own, time.Time{})
	h.is(err, people.ErrTaken)
	for _, name := range []string{"", " a", "a\n", "a\x1b[2J", strings.Repeat("x", 65)} {
		if _, err := h.AddToken(ctx, owner, ann, name, remote.Watch, time.Time{}); !input(err, "name") {
			t.Errorf("%q is a name: %v", name, err)
		}
	}
	if who, err := other.Token(ctx, secret); err != nil || who.Person != people.OwnerID || who.Rights != remote.Steer || who.Role != people.Admin || who.Name != "one" {
		t.Errorf("%+v, %v", who, err)
	}
	had, err := other.Token(ctx, hers)
	if err != nil || had.Person != ann || had.Rights != remote.Own || had.Role != people.Member {
		t.Errorf("%+v, %v", had, err)
	}
	for _, wrong := range []string{"", "burin_", hers[:len(hers)-1], hers + "x", strings.ToLower(hers), strings.TrimPrefix(hers, people.TokenPrefix), hers + "\x00"} {
		_, err := h.Token(ctx, wrong)
		h.is(err, people.ErrUnknown)
	}
	h.must(h.SetRole(ctx, owner, ann, people.Viewer))
	if now, err := other.Again(ctx, had); err != nil || now == had || now.Rights != remote.Watch {
		t.Errorf("a viewer has %+v, %v", now, err)
	}
	if _, err := h.AddToken(ctx, owner, ann, "two", remote.Steer, time.Time{}); !input(err, "rights") {
		t.Errorf("a viewer may steer: %v", err)
	}
	h.must(h.Disable(ctx, owner, ann))
	_, err = other.Again(ctx, had)
	h.is(err, people.ErrUnknown)
	h.must(h.Enable(ctx, owner, ann))
	_, err = other.Token(ctx, hers)
	h.must(err)
	h.pass(time.Hour)
	_, err = other.Token(ctx, hers)
	h.is(err, people.ErrUnknown)
	all, err := h.Tokens(ctx, "")
	if err != nil || len(all) != 2 || all[1].Person != "ann" || all[0].Used.IsZero() {
		t.Errorf("%+v, %v", all, err)
	}
	h.must(h.RemoveToken(ctx, owner, people.OwnerID, "one"))
	h.is(h.RemoveToken(ctx, owner, people.OwnerID, "one"), people.ErrUnknown)
	_, err = other.Token(ctx, secret)
	h.is(err, people.ErrUnknown)
}

// The secret of a device changes each day, and requests under way aren't cut off by that.
func testDevices(t *testing.T, h *here) {
	ctx := t.Context()
	h.join("ann", people.Member)
	in, err := h.SignIn(ctx, "Ann", password, people.From{Agent: "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"})
	h.must(err)
	first := in.Secret
	who, fresh, err := h.Device(ctx, first)
	if err != nil || fresh != "" || who.Rights != remote.Own || who.Role != people.Member || who.Name != "ann" {
		t.Fatalf("%+v %q %v", who, fresh, err)
	}
	list, err := h.Devices(ctx, who.Person, who.Device)
	if i := slices.IndexFunc(list, func(d people.Device) bool { return d.Current }); err != nil || len(list) != 2 || i < 0 || list[i].Name != "Firefox on Linux" {
		t.Errorf("%+v, %v", list, err)
	}
	h.pass(25 * time.Hour)
	var secrets []string
	for range 4 { // requests at the same time
		_, fresh, err := h.Device(ctx, first)
		h.must(err)
		if fresh != "" {
			secrets = append(secrets, fresh)
		}
	}
	if len(secrets) != 1 {
		t.Fatalf("%d new secrets", len(secrets))
	}
	h.pass(2 * time.Minute) // the browser never got it
	_, second, err := h.Device(ctx, first)
	if err != nil || second == "" || second == secrets[0] {
		t.Fatalf("%q, %v", second, err)
	}
	_, _, err = h.Device(ctx, secrets[0])
	h.is(err, people.ErrUnknown)
	_, _, err = h.Device(ctx, second)
	h.must(err)
	_, _, err = h.Device(ctx, first)
	h.must(err)
	h.pass(2 * time.Minute)
	_, _, err = h.Device(ctx, first)
	h.is(err, people.ErrUnknown)
	if again, err := h.Again(ctx, who); err != nil || again != who {
		t.Errorf("%+v, %v", again, err)
	}
	h.must(h.SignOut(ctx, owner, who.Person, who.Device))
	_, err = h.Again(ctx, who)
	h.is(err, people.ErrUnknown)
	h.is(h.SignOut(ctx, owner, who.Person, "\x00"), people.ErrUnknown)

	in, err = h.SignIn(ctx, "ann", password, people.From{})
	h.must(err)
	who, _, err = h.Device(ctx, in.Secret)
	h.must(err)
	h.is(h.SignOut(ctx, owner, people.OwnerID, who.Device), people.ErrUnknown) // of another person
	secret := in.Secret
	for range 8 { // used every 29 days
		h.pass(29 * 24 * time.Hour)
		_, fresh, err := h.Device(ctx, secret)
		if h.clock().Sub(*h.first(who)) >= 180*24*time.Hour {
			h.is(err, people.ErrUnknown)
			break
		}
		h.must(err)
		if fresh == "" {
			t.Fatal("no new secret")
		}
		secret = fresh
		_, _, err = h.Device(ctx, secret)
		h.must(err)
	}
	in, err = h.SignIn(ctx, "ann", password, people.From{})
	h.must(err)
	h.pass(31 * 24 * time.Hour)
	_, _, err = h.Device(ctx, in.Secret)
	h.is(err, people.ErrUnknown)
}

// first is when a device was signed in.
func (h *here) first(who people.Who) *time.Time {
	var at int64
	h.must(h.db.QueryRow(h.t.Context(), `SELECT created FROM {devices} WHERE id = ?1`, who.Device).Scan(&at))
	t := time.Unix(at, 0)
	return &t
}

func testPasswords(t *testing.T, h *here) {
	ctx := t.Context()
	ann := h.join("ann.other", people.Member)
	in, err := h.SignIn(ctx, "ann.other", password, people.From{})
	h.must(err)
	here, _, err := h.Device(ctx, in.Secret)
	h.must(err)
	for _, bad := range []string{"", "short", "Ann.Other", "aaaaaaaaaaaa", "Password123", strings.Repeat("x", 1025), "not text \xff\xff"} {
		if err := h.SetPassword(ctx, owner, ann, password, bad, ""); !input(err, "password") {
			t.Errorf("%q is a password: %v", bad, err)
		}
	}
	if err := h.SetPassword(ctx, owner, ann, "wrong", "another one at last", ""); !input(err, "old") {
		t.Errorf("the old one is wrong: %v", err)
	}
	reset, err := h.Links().Reset(ctx, owner, ann, people.Reset{})
	h.must(err)
	h.must(h.SetPassword(ctx, people.By{Person: ann}, ann, password, "Ångström is fine", here.Device))
	if list, err := h.Devices(ctx, ann, here.Device); err != nil || len(list) != 1 || !list[0].Current {
		t.Errorf("the other devices are %+v, %v", list, err)
	}
	h.is(h.Links().ChoosePassword(ctx, reset, "yet another one", people.From{}), people.ErrLink)
	_, err = h.SignIn(ctx, "ann.other", password, people.From{})
	h.is(err, people.ErrRefused)
	_, err = h.SignIn(ctx, "ann.other", "A\u030angstro\u0308m is fine", people.From{}) // as another keyboard has it
	h.must(err)

	reset, err = h.Links().Reset(ctx, owner, ann, people.Reset{})
	h.must(err)
	if name, err := h.Links().ResetName(ctx, reset); err != nil || name != "ann.other" {
		t.Errorf("%q, %v", name, err)
	}
	if err := h.Links().ChoosePassword(ctx, reset, "short", people.From{}); !input(err, "password") {
		t.Errorf("short: %v", err)
	}
	h.must(h.Links().ChoosePassword(ctx, reset, "one by a link", people.From{}))
	if list, err := h.Devices(ctx, ann, ""); err != nil || len(list) != 0 {
		t.Errorf("after the reset %+v, %v", list, err)
	}
	// A hash with other parameters is good, and made again.
	_, err = h.db.Exec(ctx, `UPDATE {people} SET password = ?2 WHERE id = ?1`, ann, "$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQ$"+oldKey)
	h.must(err)
	_, err = h.real().SignIn(ctx, "ann.other", "an older password", people.From{})
	h.must(err)
	var hash string
	h.must(h.db.QueryRow(ctx, `SELECT password FROM {people} WHERE id = ?1`, ann).Scan(&hash))
	if !strings.HasPrefix(hash, "$argon2id$v=19$m=65536,t=3,p=1$") {
		t.Errorf("the hash is %q", hash)
	}
	_, err = h.SignIn(ctx, "ann.other", "an older password", people.From{})
	h.must(err)
}

// Whether a name exists doesn't show in the time that an attempt takes.
func testFailuresTakeEquallyLong(t *testing.T, h *here) {
	if h.db.Server() && pacetest.Cases(true, false) {
		t.Skip("it makes real hashes, as with SQLite: set BURIN_LONG=ci")
	}
	h.People = h.real()
	h.join("ann", people.Member)
	h.must(h.Disable(t.Context(), owner, h.join("bob", people.Member)))
	_, err := h.Add(t.Context(), owner, "cec", "", people.Member) // has no password
	h.must(err)
	took := map[string]time.Duration{}
	for range 3 {
		for name, word := range map[string]string{"ann": "a wrong one of them", "bob": password, "cec": password, "nobody": password} {
			began := time.Now()
			if _, err := h.SignIn(t.Context(), name, word, people.From{}); !errors.Is(err, people.ErrRefused) {
				t.Errorf("%s: %v", name, err)
			}
			if d := time.Since(began); took[name] == 0 || d < took[name] {
				took[name] = d
			}
		}
	}
	for name, b := range took {
		if a := took["ann"]; b < a/4 || a < b/4 { // without a hash it would be a hundredth
			t.Errorf("ann takes %v, %s %v", a, name, b)
		}
	}
}

// Whether a name exists shows nowhere: not in what is said, or the wait.
func testFailuresAreEqual(t *testing.T, h *here) {
	ctx := t.Context()
	h.join("ann", people.Member)
	h.must(h.Disable(ctx, owner, h.join("bob", people.Member)))
	_, err := h.Add(ctx, owner, "cec", "", people.Member) // has no password
	h.must(err)
	names := []string{"ann", "bob", "cec", "nobody", "no name at all", strings.Repeat("x", 1000), "a\x00b"}
	for i := range 8 {
		var said []string
		for _, name := range names {
			_, err := h.SignIn(ctx, name, map[bool]string{true: password, false: "a wrong one of them"}[name == "bob"], people.From{})
			if err == nil {
				t.Fatalf("%s signed in", name)
			}
			said = append(said, err.Error())
		}
		// Three names that can't be are one.
		for _, s := range said[:4] {
			if s != said[0] {
				t.Errorf("attempt %d: %q", i, said[:4])
			}
		}
		if wait, ok := errors.AsType[people.WaitError](err); ok && wait.Wait > 15*time.Minute {
			t.Errorf("a wait of %v", wait.Wait)
		}
	}
	_, err = h.SignIn(ctx, "ann", password, people.From{})
	wait, ok := errors.AsType[people.WaitError](err)
	if !ok {
		t.Fatalf("after many failures: %v", err)
	}
	h.pass(wait.Wait)
	_, err = h.SignIn(ctx, "ann", password, people.From{})
	h.must(err)
	_, err = h.SignIn(ctx, "ann", password, people.From{}) // all is forgiven
	h.must(err)
}

// Of many attempts at the same time, on two servers, only as many are made as of those that
// come one after the other.
func testAttemptsAtTheSameTime(t *testing.T, h *here) {
	servers := []*people.People{h.People, h.other()}
	h.join("ann", people.Member)
	var tried, waits atomic.Int32
	var work sync.WaitGroup
	for i := range 24 {
		work.Go(func() {
			_, err := servers[i%2].SignIn(t.Context(), "ann", "a wrong one of them", people.From{Address: "198.51.100.7"})
			_, wait := errors.AsType[people.WaitError](err)
			switch {
			case errors.Is(err, people.ErrRefused):
				tried.Add(1)
			case wait:
				waits.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	work.Wait()
	if n := tried.Load(); n != 6 || waits.Load() != 18 {
		t.Errorf("%d of 24 attempts were made, %d told to wait", n, waits.Load())
	}
}

// An address that tries many names has to wait, whatever the names.
func testAddress(t *testing.T, h *here) {
	ctx := t.Context()
	ann := h.join("ann", people.Member)
	reset, err := h.Links().Reset(ctx, owner, ann, people.Reset{})
	h.must(err)
	for i := range 5 {
		_, err := h.SignIn(ctx, "no"+strings.Repeat("x", i), "", people.From{Address: "198.51.100.7"})
		if _, ok := errors.AsType[people.WaitError](err); ok != (i > 3) {
			t.Errorf("attempt %d: %v", i, err)
		}
		if i == 0 { // as if there had been many
			_, err := h.db.Exec(ctx, `UPDATE {attempts} SET failures = 48`)
			h.must(err)
		}
	}
	_, err = h.SignIn(ctx, "ann", password, people.From{Address: "198.51.100.8"})
	h.must(err)
	h.must(h.Links().ChoosePassword(ctx, reset, "another fine one", people.From{Address: "198.51.100.7"})) // a link is no guess
}

// Of two who redeem one link, invitation or code at the same time, one wins.
func testOneWins(t *testing.T, h *here) {
	ctx := t.Context()
	servers := []*people.People{h.People, h.other()}
	race := func(what string, do func(p *people.People, i int) error) {
		t.Helper()
		var won, lost atomic.Int32
		var work sync.WaitGroup
		for i := range 5 {
			work.Go(func() {
				switch err := do(servers[i%2], i); {
				case err == nil:
					won.Add(1)
				case errors.Is(err, people.ErrLink), errors.Is(err, people.ErrCode):
					lost.Add(1)
				default:
					t.Errorf("%s: %v", what, err)
				}
			})
		}
		work.Wait()
		if won.Load() != 1 || lost.Load() != 4 {
			t.Errorf("%s: %d won, %d lost", what, won.Load(), lost.Load())
		}
	}
	link, err := h.Links().Link(ctx, owner, people.OwnerID)
	h.must(err)
	race("a link", func(p *people.People, _ int) error {
		_, err := p.Links().Open(ctx, link, people.From{})
		return err
	})
	code, err := h.Links().Invite(ctx, owner, people.Member, h.clock().Add(time.Hour))
	h.must(err)
	race("an invitation", func(p *people.People, i int) error {
		_, err := p.Links().Join(ctx, code, "joiner"+string(rune('a'+i)), "", password, people.From{})
		return err
	})
	ann := h.join("ann", people.Member)
	secret, codes := h.factor(ann)
	h.pass(time.Minute)
	now := codeOf(t, secret, h.clock())
	race("a code", func(p *people.People, _ int) error {
		in, err := p.SignIn(ctx, "ann", password, people.From{})
		if err != nil {
			return err
		}
		_, err = p.SecondFactor(ctx, in.Ticket, now, people.From{})
		return err
	})
	h.pass(24 * time.Hour)
	var left []string
	for range 5 {
		in, err := h.SignIn(ctx, "ann", password, people.From{})
		h.must(err)
		left = append(left, in.Ticket)
	}
	race("a recovery code", func(p *people.People, i int) error {
		_, err := p.SecondFactor(ctx, left[i], strings.ToLower(codes[0]), people.From{})
		return err
	})
}

func testLinks(t *testing.T, h *here) {
	ctx := t.Context()
	link, err := h.Links().Link(ctx, owner, people.OwnerID)
	h.must(err)
	_, err = h.Links().Open(ctx, link+"x", people.From{})
	h.is(err, people.ErrLink)
	_, err = h.Links().ResetName(ctx, link) // of another kind
	h.is(err, people.ErrLink)
	_, err = h.Links().Invited(ctx, link)
	h.is(err, people.ErrLink)
	secret, err := h.Links().Open(ctx, link, people.From{})
	h.must(err)
	if who, _, err := h.Device(ctx, secret); err != nil || who.Person != people.OwnerID || who.Role != people.Admin {
		t.Errorf("%+v, %v", who, err)
	}
	link, err = h.Links().Link(ctx, owner, people.OwnerID)
	h.must(err)
	h.pass(10 * time.Minute)
	_, err = h.Links().Open(ctx, link, people.From{})
	h.is(err, people.ErrLink)
	_, err = h.Links().Link(ctx, owner, "nobody")
	h.is(err, people.ErrUnknown)

	code, err := h.Links().Invite(ctx, owner, people.Viewer, h.clock().Add(time.Hour))
	h.must(err)
	list, err := h.Links().Invitations(ctx)
	if err != nil || len(list) != 1 || list[0].Role != people.Viewer {
		t.Fatalf("%+v, %v", list, err)
	}
	if _, err := h.Links().Join(ctx, code, "owner", "", password, people.From{}); !errors.Is(err, people.ErrTaken) {
		t.Errorf("the owner's name: %v", err)
	}
	_, err = h.Links().Join(ctx, code, "a b", "c\nd", "x", people.From{})
	for _, field := range []string{"name", "display", "password"} {
		if !strings.Contains(err.Error(), field+": ") {
			t.Errorf("all that is wrong: %v", err)
		}
	}
	h.must(h.Links().Withdraw(ctx, owner, list[0].ID))
	_, err = h.Links().Join(ctx, code, "ann", "", password, people.From{})
	h.is(err, people.ErrLink)
	ann := h.join("ann", people.Member)
	link, err = h.Links().Link(ctx, owner, ann)
	h.must(err)
	h.must(h.Disable(ctx, owner, ann))
	_, err = h.Links().Open(ctx, link, people.From{})
	h.is(err, people.ErrLink)
}

// factor turns the second factor of a person on.
func (h *here) factor(person string) (secret string, codes []string) {
	h.t.Helper()
	e, err := h.Factors().Enroll(h.t.Context(), owner, person, password)
	h.must(err)
	codes, err = h.Factors().Confirm(h.t.Context(), owner, person, codeOf(h.t, e.Secret, h.clock()), "")
	h.must(err)
	return e.Secret, codes
}

func testSecondFactor(t *testing.T, h *here) {
	ctx := t.Context()
	ann := h.join("ann", people.Member)
	if _, err := h.Factors().Enroll(ctx, owner, ann, "wrong"); !input(err, "password") {
		t.Errorf("without the password: %v", err)
	}
	e, err := h.Factors().Enroll(ctx, owner, ann, password)
	h.must(err)
	if again, err := h.Factors().Enrolling(ctx, ann); err != nil || again != e || !strings.HasPrefix(e.URI, "otpauth://totp/burin:ann?secret="+e.Secret) {
		t.Errorf("%+v %+v, %v", e, again, err)
	}
	_, err = h.Factors().Confirm(ctx, owner, ann, "000000", "")
	h.is(err, people.ErrCode)
	in, err := h.SignIn(ctx, "ann", password, people.From{}) // it holds once it is confirmed
	h.must(err)
	if in.Secret == "" {
		t.Fatal("a code is asked for already")
	}
	code := codeOf(t, e.Secret, h.clock())
	codes, err := h.Factors().Confirm(ctx, owner, ann, code[:3]+" "+code[3:], "")
	if err != nil || len(codes) != 10 {
		t.Fatalf("%v, %v", codes, err)
	}
	_, _, err = h.Device(ctx, in.Secret)
	h.is(err, people.ErrUnknown) // it was signed in without
	in, err = h.SignIn(ctx, "ann", password, people.From{})
	if err != nil || in.Secret != "" || in.Ticket == "" {
		t.Fatalf("%+v, %v", in, err)
	}
	_, err = h.SecondFactor(ctx, in.Ticket, code, people.From{}) // it was used to confirm
	h.is(err, people.ErrCode)
	h.pass(30 * time.Second)
	code = codeOf(t, e.Secret, h.clock())
	_, err = h.SecondFactor(ctx, in.Ticket, code, people.From{})
	h.must(err)
	_, err = h.SecondFactor(ctx, in.Ticket, codes[0], people.From{}) // the ticket was used
	h.is(err, people.ErrLink)
	in, err = h.SignIn(ctx, "ann", password, people.From{})
	h.must(err)
	_, err = h.SecondFactor(ctx, in.Ticket, code, people.From{})
	h.is(err, people.ErrCode)
	_, err = h.SecondFactor(ctx, in.Ticket, codeOf(t, e.Secret, h.clock().Add(-90*time.Second)), people.From{})
	h.is(err, people.ErrCode)
	_, err = h.SecondFactor(ctx, in.Ticket, codes[0], people.From{})
	h.must(err)
	if n, err := h.Factors().Left(ctx, ann); n != 9 || err != nil {
		t.Errorf("%d codes are left, %v", n, err)
	}
	in, err = h.SignIn(ctx, "ann", password, people.From{})
	h.must(err)
	_, err = h.SecondFactor(ctx, in.Ticket, codes[0], people.From{})
	h.is(err, people.ErrCode)
	for i := range 20 { // who guesses has to wait
		_, err = h.SecondFactor(ctx, in.Ticket, "123456", people.From{})
		if _, ok := errors.AsType[people.WaitError](err); ok {
			break
		}
		if i == 19 {
			t.Errorf("20 guesses: %v", err)
		}
	}
	h.pass(4 * time.Minute) // the ticket expires
	h.pass(time.Minute)
	_, err = h.SecondFactor(ctx, in.Ticket, codes[1], people.From{})
	h.is(err, people.ErrLink)
	fresh, err := h.Factors().Codes(ctx, owner, ann, password)
	h.must(err)
	in, err = h.SignIn(ctx, "ann", password, people.From{})
	h.must(err)
	h.pass(time.Hour)
	in, err = h.SignIn(ctx, "ann", password, people.From{})
	h.must(err)
	_, err = h.SecondFactor(ctx, in.Ticket, codes[1], people.From{})
	h.is(err, people.ErrCode)
	_, err = h.SecondFactor(ctx, in.Ticket, fresh[1], people.From{})
	h.must(err)
	h.must(h.Factors().Remove(ctx, owner, ann, password))
	in, err = h.SignIn(ctx, "ann", password, people.From{})
	if err != nil || in.Secret == "" {
		t.Errorf("%+v, %v", in, err)
	}
	h.factor(ann)
	reset, err := h.Links().Reset(ctx, owner, ann, people.Reset{SecondFactor: true})
	h.must(err)
	h.must(h.Links().ChoosePassword(ctx, reset, "another fine one", people.From{}))
	in, err = h.SignIn(ctx, "ann", "another fine one", people.From{})
	if err != nil || in.Secret == "" {
		t.Errorf("after a reset: %+v, %v", in, err)
	}
}

func testLimits(t *testing.T, h *here) {
	ctx, g := t.Context(), h.Groups()
	ann := h.join("ann", people.Member)
	five, three, nothing := llm.Dollars(5), llm.Dollars(3), llm.USD(0)
	h.must(g.Set(ctx, owner, "all", nil, nil))
	h.must(g.Set(ctx, owner, "Few", []string{"box/*", "other/one"}, &five))
	h.must(g.Set(ctx, owner, "less", []string{"box/one"}, &three))
	for _, name := range []string{"all", "few", "less", "few"} {
		h.must(g.Join(ctx, owner, name, ann))
	}
	h.is(g.Join(ctx, owner, "none", ann), people.ErrUnknown)
	h.is(g.Join(ctx, owner, "few", "nobody"), people.ErrUnknown)
	turns, bytes := 2, int64(1e9)
	h.must(g.SetQuota(ctx, owner, ann, people.Quota{Turns: &turns, Storage: &bytes}))
	got, err := h.Limits(ctx, ann)
	if err != nil || got.Budget == nil || *got.Budget != three || *got.Turns != 2 || *got.Storage != 1e9 ||
		!slices.EqualFunc(got.Models, [][]string{{"box/*", "other/one"}, {"box/one"}}, slices.Equal[[]string]) {
		t.Errorf("%+v, %v", got, err)
	}
	h.must(g.SetQuota(ctx, owner, ann, people.Quota{Budget: &nothing}))
	if got, err := h.Limits(ctx, ann); err != nil || *got.Budget != 0 || got.Turns != nil {
		t.Errorf("%+v, %v", got, err)
	}
	h.must(g.Leave(ctx, owner, "less", ann))
	h.is(g.Leave(ctx, owner, "less", ann), people.ErrUnknown)
	list, err := g.List(ctx)
	if err != nil || len(list) != 3 || list[1].Name != "Few" || !slices.Equal(list[1].Members, []string{"ann"}) || len(list[2].Members) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	h.must(g.Remove(ctx, owner, "FEW"))
	h.is(g.Remove(ctx, owner, "few"), people.ErrUnknown)
	if got, err := h.Limits(ctx, people.OwnerID); err != nil || got.Budget != nil || got.Models != nil {
		t.Errorf("the owner's are %+v, %v", got, err)
	}
	minus := llm.Dollars(-1)
	if err := g.Set(ctx, owner, "x", nil, &minus); !input(err, "budget") {
		t.Error(err)
	}
	h.is(g.SetQuota(ctx, owner, "nobody", people.Quota{}), people.ErrUnknown)
}

// Who deletes an account knows its password; nothing but the log is left of it.
func testAccount(t *testing.T, h *here) {
	ctx := t.Context()
	ann := h.join("ann", people.Member)
	_, err := h.AddToken(ctx, people.By{Person: ann}, ann, "one", remote.Own, time.Time{})
	h.must(err)
	h.factor(ann)
	a, err := h.Export(ctx, people.By{Person: ann, Address: "192.0.2.1"}, ann)
	if err != nil || a.Person.Name != "ann" || len(a.Tokens) != 1 || len(a.Devices) != 0 || len(a.Log) < 4 || a.Log[0].What != "export" || a.Log[0].Address != "192.0.2.1" || a.Log[0].WhoName != "ann" {
		t.Errorf("%+v, %v", a, err)
	}
	if err := h.Delete(ctx, people.By{Person: ann}, ann, "wrong"); !input(err, "password") {
		t.Errorf("without the password: %v", err)
	}
	h.must(h.Delete(ctx, people.By{Person: ann}, ann, password))
	h.is(h.Delete(ctx, owner, people.OwnerID, ""), people.ErrOwner)
	for _, table := range []string{"{tokens}", "{devices}", "{recovery}", "{links}"} {
		var n int
		h.must(h.db.QueryRow(ctx, `SELECT count(*) FROM `+table).Scan(&n))
		if n != 0 {
			t.Errorf("%d rows are left in %s", n, table)
		}
	}
	log, err := h.Audit(ctx, "", 1)
	if err != nil || len(log) != 1 || log[0].What != "person.remove" || log[0].Who != ann {
		t.Errorf("%+v, %v", log, err)
	}
	h.pass(401 * 24 * time.Hour)
	if log, err := h.Audit(ctx, "", 100); err != nil || len(log) != 0 {
		t.Errorf("after 401 days %+v, %v", log, err)
	}
}

// No secret is in the file.
func TestNothingInTheClear(t *testing.T) {
	dir := t.TempDir()
	h := start(t, storetest.Open(t, filepath.Join(dir, "server.db"), []store.Part{people.Part()}))
	ctx := t.Context()
	ann := h.join("ann", people.Member)
	token, err := h.AddToken(ctx, owner, ann, "one", remote.Own, time.Time{})
	h.must(err)
	key, codes := h.factor(ann)
	link, err := h.Links().Link(ctx, owner, ann)
	h.must(err)
	code, err := h.Links().Invite(ctx, owner, people.Member, h.clock().Add(time.Hour))
	h.must(err)
	in, err := h.SignIn(ctx, "ann", password, people.From{})
	h.must(err)
	_, _ = h.SignIn(ctx, "typed-into-the-wrong-field", "x", people.From{})
	secrets := append(codes, strings.TrimPrefix(token, people.TokenPrefix), key, link, code, in.Ticket, password, "typed-into-the-wrong-field", strings.ReplaceAll(codes[0], "-", ""))
	entries, err := os.ReadDir(dir)
	h.must(err)
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		h.must(err)
		for _, s := range secrets {
			if bytes.Contains(data, []byte(s)) {
				t.Errorf("%s has %q", e.Name(), s)
			}
		}
		if e.Name() == "server.db-wal" && !bytes.Contains(data, []byte("person.add")) && !bytes.Contains(data, []byte("join")) {
			t.Error("the search finds nothing at all")
		}
	}
}

func BenchmarkDevice(b *testing.B) {
	db := storetest.Open(b, filepath.Join(b.TempDir(), "server.db"), []store.Part{people.Part()})
	p, err := people.Open(b.Context(), db, nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	link, err := p.Links().Link(context.Background(), owner, people.OwnerID)
	if err != nil {
		b.Fatal(err)
	}
	secret, err := p.Links().Open(context.Background(), link, people.From{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, _, err := p.Device(context.Background(), secret); err != nil {
			b.Fatal(err)
		}
	}
}
