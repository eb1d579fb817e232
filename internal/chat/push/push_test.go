package push

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/push/pushtest"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/store/storetest"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/platform/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

// The example of RFC 8291, section 5.
func TestEncryptExample(t *testing.T) {
	raw := func(text string) []byte {
		t.Helper()
		b, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	to, err := ecdh.P256().NewPublicKey(raw("BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"))
	if err != nil {
		t.Fatal(err)
	}
	from, err := ecdh.P256().NewPrivateKey(raw("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := encrypt([]byte("When I grow up, I want to be a watermelon"), to, raw("BTBZMqHH6r4Tts7J_aSIgg"), from, raw("DGv6ra1nlYgDCS1FRnbzlw"), 0)
	if err != nil {
		t.Fatal(err)
	}
	want := raw("DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN")
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%x\nwant\n%x", got, want)
	}
	if _, err := encrypt(make([]byte, recordSize), to, make([]byte, authSize), from, make([]byte, saltSize), padded); err == nil {
		t.Error("a message of more than one record is encrypted")
	}
}

// rig is a server's database with a push service.
type rig struct {
	*testing.T
	*pushtest.Service
	db      *store.DB
	vault   *vault.Vault
	devices map[string][]string // by person
	now     time.Time
}

func parts() []store.Part { return []store.Part{Part(), vault.Part()} }

// Each runs on both kinds of database.
func TestStore(t *testing.T) {
	storetest.Each(t, parts(), func(t *testing.T, open func() *store.DB) {
		for name, test := range map[string]func(r *rig){
			"deliver": deliver, "retry": retry, "refused": refused, "trial": trial, "once": once, "answered": answered, "ends": ends,
		} {
			t.Run(name, func(t *testing.T) {
				db := open()
				v, err := vault.Open(t.Context(), db, vault.KeyFile(filepath.Join(t.TempDir(), "key")), vault.Options{})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(v.Close)
				r := &rig{T: t, Service: pushtest.Serve(t), db: db, vault: v, devices: map[string][]string{"ann": {"phone", "laptop"}, "bob": {"desk"}}, now: time.Now().Truncate(time.Second)}
				r.Now = func() time.Time { return r.now }
				test(r)
			})
		}
	})
}

// store is that of one server; reaches are the hosts beside those of the internet that it may reach.
func (r *rig) store(reaches ...string) *Store {
	s := New(r.db, r.vault, Options{
		Contact: "mailto:ann@example.org", Hosts: reaches, Base: r.Client().Transport.(*http.Transport),
		Devices: func(_ context.Context, person string) (all []people.Device, err error) {
			for _, id := range r.devices[person] {
				all = append(all, people.Device{ID: id, Name: "Firefox on " + id})
			}
			return all, nil
		},
		Title: func(_ context.Context, person, chat string) (string, error) {
			return "Title of " + chat + " of " + person, nil
		},
	})
	s.now = func() time.Time { return r.now }
	return s
}

// subscribe subscribes a browser.
func (r *rig) subscribe(s *Store, person, device string, title bool) (*pushtest.Browser, Subscribed) {
	r.Helper()
	key, err := s.Key(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	b := r.Subscribe(key)
	sub, err := s.Subscribe(r.Context(), person, device, "https://burin.example.org", Subscription{b.Endpoint, SubscriptionKeys{b.P256dh, b.Auth}, title, false})
	if err != nil {
		r.Fatal(err)
	}
	return b, sub
}

func (r *rig) notify(s *Store, person, chat string, kind Kind) {
	r.Helper()
	if err := r.db.Update(r.Context(), func(q store.Querier) error { return s.Notify(r.Context(), q, person, chat, kind) }); err != nil {
		r.Fatal(err)
	}
}

// send sends what waits and may be sent now.
func (r *rig) send(s *Store) (wait time.Duration) {
	r.Helper()
	o := &sender{s: s, ctx: r.Context(), places: make(chan struct{}, atOnce), busy: map[string]bool{}, failed: func(err error) {
		if err != nil {
			r.Error(err)
		}
	}}
	for more := true; more; {
		before := r.Requests()
		var err error
		if wait, err = o.sendDue(); err != nil {
			r.Error(err)
		}
		o.work.Wait()
		more = r.Requests() > before
	}
	return wait
}

func (r *rig) list(s *Store, person string) []Subscribed {
	r.Helper()
	all, err := s.List(r.Context(), person, "phone")
	if err != nil {
		r.Fatal(err)
	}
	return all
}

// Each browser of a person is told, and only what they want; nothing of it is readable on the way or
// in the database.
func deliver(r *rig) {
	s := r.store(r.Host())
	phone, sub := r.subscribe(s, "ann", "phone", false)
	laptop, _ := r.subscribe(s, "ann", "laptop", true)
	r.subscribe(s, "bob", "desk", true)
	if sub.Name != "Firefox on phone" || !sub.Current || sub.Title || !sub.Sent.IsZero() {
		r.Errorf("subscribed %+v", sub)
	}
	r.notify(s, "ann", "c1", Question)
	r.send(s)
	got := map[*pushtest.Browser]pushtest.Received{}
	for range 2 {
		m := r.Next()
		got[m.Browser] = m
	}
	if m := got[phone]; m.Text != `{"kind":"question","chat":"c1"}` || m.Head.Get("Urgency") != "high" || m.Head.Get("TTL") != "86400" || len(m.Head.Get("Topic")) != 32 || m.Sub != "mailto:ann@example.org" {
		r.Errorf("the phone got %+v", m)
	}
	if m := got[laptop]; m.Title != "Title of c1 of ann" || m.Head.Get("Topic") == got[phone].Head.Get("Topic") {
		r.Errorf("the laptop got %+v", m)
	}
	topic := got[phone].Head.Get("Topic")
	r.notify(s, "ann", "c1", Done)
	r.notify(s, "ann", "c2", Failed)
	r.send(s)
	topics := map[string]string{}
	for range 4 {
		if m := r.Next(); m.Browser == phone {
			topics[m.Chat+" "+m.Kind] = m.Head.Get("Topic")
		}
	}
	if topics["c1 done"] != topic || topics["c2 error"] == "" || topics["c2 error"] == topic {
		r.Errorf("topics %v, the first was %q", topics, topic)
	}
	if all := r.list(s, "ann"); len(all) != 2 || all[0].Sent.IsZero() || all[0].Failure != "" {
		r.Errorf("subscriptions %+v", all)
	}
	if n := r.Requests(); n != 6 {
		r.Errorf("%d requests", n)
	}
	var sealed []byte
	if err := r.db.QueryRow(r.Context(), `SELECT sealed FROM {push_subscriptions} WHERE device = 'phone'`).Scan(&sealed); err != nil || bytes.Contains(sealed, []byte("https")) {
		r.Errorf("in the database: %q, %v", sealed, err)
	}
}

// A message waits for a push service that doesn't take it, longer each time, and is given up in the
// end. What is newer about the same chat takes its place.
func retry(r *rig) {
	s := r.store(r.Host())
	r.subscribe(s, "ann", "phone", false)
	busy := func(after string) func(w http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", after)
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}
	r.Refuse(busy(""), busy("120"), busy(r.now.Add(time.Hour).UTC().Format(http.TimeFormat)), busy("999999999999"), busy("-1"))
	r.notify(s, "ann", "c1", Question)
	for i, want := range []time.Duration{10 * time.Second, 2 * time.Minute, time.Hour - 130*time.Second, 24 * time.Hour} {
		r.send(s)
		r.send(s) // which does nothing
		var later int64
		if err := r.db.QueryRow(r.Context(), `SELECT later FROM {push_subscriptions}`).Scan(&later); err != nil {
			r.Fatal(err)
		}
		if wait := time.UnixMilli(later).Sub(r.now); (wait-want).Abs() > 2*time.Second || r.Requests() != i+1 {
			r.Errorf("after %d refusals the wait is %v, want %v; %d requests", i+1, wait, want, r.Requests())
		}
		if all := r.list(s, "ann"); !strings.Contains(all[0].Failure, "429") {
			r.Errorf("failure %q", all[0].Failure)
		}
		r.now = time.UnixMilli(later)
	}
	r.send(s)
	var n int
	if err := r.db.QueryRow(r.Context(), `SELECT count(*) FROM {push_waiting}`).Scan(&n); err != nil || n != 0 {
		r.Errorf("%d messages wait after a day: %v", n, err)
	}
	// The next one is taken, and all is well again.
	r.Refuse()
	r.notify(s, "ann", "c1", Question)
	r.notify(s, "ann", "c1", Done)
	r.send(s) // refused with a Retry-After that is no time
	r.now = r.now.Add(time.Hour)
	r.send(s)
	if m := r.Next(); m.Kind != "done" || m.Head.Get("TTL") != "82800" {
		r.Errorf("got %+v", m)
	}
	if all := r.list(s, "ann"); all[0].Failure != "" || r.Requests() != 6 {
		r.Errorf("failure %q after %d requests", all[0].Failure, r.Requests())
	}
}

// What can't be delivered is dropped, and whoever is gone is removed.
func refused(r *rig) {
	s := r.store(r.Host())
	status := func(code int) func(w http.ResponseWriter) {
		return func(w http.ResponseWriter) { w.WriteHeader(code) }
	}
	r.subscribe(s, "ann", "phone", false)
	for _, code := range []int{http.StatusForbidden, http.StatusBadRequest, http.StatusMovedPermanently} {
		r.Refuse(func(w http.ResponseWriter) {
			w.Header().Set("Location", r.URL+"/elsewhere")
			w.WriteHeader(code)
			_, _ = w.Write(make([]byte, 1<<20)) // more than anybody reads
		})
		before := r.Requests()
		r.notify(s, "ann", "c1", Done)
		r.send(s)
		r.now = r.now.Add(2 * time.Hour)
		r.send(s)
		if all := r.list(s, "ann"); len(all) != 1 || !strings.Contains(all[0].Failure, fmt.Sprint("status ", code)) || r.Requests() != before+1 {
			r.Errorf("%d: %+v, %d requests", code, all, r.Requests()-before)
		}
	}
	for _, code := range []int{http.StatusNotFound, http.StatusGone} {
		r.subscribe(s, "ann", "phone", false)
		r.Refuse(status(code))
		r.notify(s, "ann", "c1", Done)
		r.send(s)
		if all := r.list(s, "ann"); len(all) != 0 {
			r.Errorf("%d: %+v", code, all)
		}
	}
	// A service within the network is not reached unless the settings allow it.
	closed := r.store()
	_, sub := r.subscribe(closed, "ann", "phone", false)
	before := r.Requests()
	r.notify(closed, "ann", "c1", Done)
	r.send(closed)
	if all := r.list(s, "ann"); len(all) != 1 || !strings.Contains(all[0].Failure, "server.pushHosts") || r.Requests() != before {
		r.Errorf("%+v, %d requests", all, r.Requests()-before)
	}
	r.now = r.now.Add(time.Minute)
	if err := closed.Test(r.Context(), "ann", sub.ID); err == nil || !strings.Contains(err.Error(), "server.pushHosts") {
		r.Errorf("the test says %v", err)
	}
}

// A test says what became of it, and is for the person's own browsers.
func trial(r *rig) {
	s := r.store(r.Host())
	_, sub := r.subscribe(s, "ann", "phone", true)
	if err := s.Test(r.Context(), "bob", sub.ID); !errors.Is(err, ErrUnknown) {
		r.Errorf("bob tests ann's phone: %v", err)
	}
	if err := s.Test(r.Context(), "ann", sub.ID); err != nil {
		r.Fatal(err)
	}
	if m := r.Next(); m.Text != `{"kind":"test"}` || m.Head.Get("Topic") != "" || m.Head.Get("TTL") != "60" {
		r.Errorf("got %+v", m)
	}
	if err := s.Test(r.Context(), "ann", sub.ID); !errors.As(err, new(WaitError)) {
		r.Errorf("the next test: %v", err)
	}
	r.now = r.now.Add(time.Minute)
	r.Refuse(func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) })
	if err := s.Test(r.Context(), "ann", sub.ID); !errors.As(err, new(ServiceError)) || !strings.Contains(err.Error(), "500") {
		r.Errorf("a test that fails: %v", err)
	}
	r.now = r.now.Add(time.Minute)
	r.Refuse(func(w http.ResponseWriter) { w.WriteHeader(http.StatusGone) })
	if err := s.Test(r.Context(), "ann", sub.ID); !errors.Is(err, ErrGone) || len(r.list(s, "ann")) != 0 {
		r.Errorf("a test of one that is gone: %v", err)
	}
}

// Of several servers of one database each message is sent by one, and what one leaves another one sends.
func once(r *rig) {
	a, b := r.store(r.Host()), r.store(r.Host())
	r.subscribe(a, "ann", "phone", false)
	r.subscribe(b, "ann", "laptop", false)
	ctx, stop := context.WithCancel(r.Context())
	ended := make(chan struct{}, 2)
	for _, s := range []*Store{a, b} {
		go func() {
			s.Tend(ctx, func(err error) { r.Error(err) })
			ended <- struct{}{}
		}()
	}
	const chats = 20
	seen := map[string]int{}
	for i := range chats {
		r.notify(a, "ann", "chat-"+string(rune('a'+i)), Done)
		a.Wake()
		b.Wake()
	}
	for range 2 * chats {
		m := r.Next()
		seen[m.Browser.Endpoint+" "+m.Chat]++
	}
	stop()
	<-ended
	<-ended
	if n := r.Requests(); n != 2*chats || len(seen) != 2*chats {
		r.Errorf("%d requests, %d messages", n, len(seen))
	}
}

// A question that was answered before anybody was told of it is told to nobody.
func answered(r *rig) {
	s := r.store(r.Host())
	r.subscribe(s, "ann", "phone", false)
	r.notify(s, "ann", "c1", Question)
	r.notify(s, "ann", "c2", Done)
	for _, chat := range []string{"c1", "c2"} {
		if err := s.Answered(r.Context(), chat); err != nil {
			r.Fatal(err)
		}
	}
	r.send(s)
	if m := r.Next(); m.Chat != "c2" || r.Requests() != 1 {
		r.Errorf("got %+v, %d requests", m, r.Requests())
	}
}

// A subscription goes when the person signs out there, when somebody else signs in and subscribes with that
// browser, and with the person. Another key of the person opens what is kept.
func ends(r *rig) {
	s := r.store(r.Host())
	b, first := r.subscribe(s, "ann", "phone", false)
	r.subscribe(s, "ann", "laptop", false)
	if _, again := r.subscribe(s, "ann", "phone", true); again.ID == first.ID || !again.Title || len(r.list(s, "ann")) != 2 {
		r.Errorf("subscribed twice: %+v", r.list(s, "ann"))
	}
	if err := s.Remove(r.Context(), "bob", r.list(s, "ann")[0].ID); !errors.Is(err, ErrUnknown) {
		r.Errorf("bob removes ann's: %v", err)
	}
	for _, person := range []string{"ann", KeysID} {
		if _, err := r.vault.Rotate(r.Context(), person); err != nil {
			r.Fatal(err)
		}
	}
	before, err := s.Key(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	for _, person := range []string{"ann", KeysID} {
		ring, err := r.vault.Ring(r.Context(), person)
		if err != nil {
			r.Fatal(err)
		}
		n := 0
		for after, once := "", true; once || after != ""; once = false {
			var did int
			if after, did, err = s.Reseal(r.Context(), person, ring, after, 1); err != nil {
				r.Fatal(err)
			}
			n += did
		}
		if person == "ann" && n != 2 {
			r.Errorf("%d were sealed again", n)
		}
	}
	for _, column := range []string{"SELECT sealed FROM {push_server}", "SELECT sealed FROM {push_subscriptions} WHERE device = 'laptop'"} {
		var sealed []byte
		if err := r.db.QueryRow(r.Context(), column).Scan(&sealed); err != nil {
			r.Fatal(err)
		}
		if generation, err := vault.Generation(sealed); err != nil || generation != 2 {
			r.Errorf("%s: generation %d, %v", column, generation, err)
		}
	}
	if after, err := s.Key(r.Context()); err != nil || after != before {
		r.Errorf("the key is %q, was %q: %v", after, before, err)
	}

	r.devices["ann"] = []string{"laptop"}
	if all := r.list(s, "ann"); len(all) != 1 || all[0].Device != "laptop" {
		r.Errorf("signed out: %+v", all)
	}
	r.notify(s, "ann", "c1", Done)
	r.send(s)
	if m := r.Next(); r.Requests() != 1 {
		r.Errorf("%+v after %d requests", m, r.Requests())
	}
	r.devices["ann"] = nil
	if err := s.tidy(r.Context()); err != nil {
		r.Fatal(err)
	}
	r.devices["ann"] = []string{"phone"}
	if all := r.list(s, "ann"); len(all) != 0 {
		r.Errorf("after tidying up: %+v", all)
	}
	// The browser is bob's now.
	if _, err := s.Subscribe(r.Context(), "ann", "phone", "", Subscription{b.Endpoint, SubscriptionKeys{b.P256dh, b.Auth}, false, false}); err != nil {
		r.Fatal(err)
	}
	if _, err := s.Subscribe(r.Context(), "bob", "desk", "", Subscription{b.Endpoint, SubscriptionKeys{b.P256dh, b.Auth}, false, false}); err != nil {
		r.Fatal(err)
	}
	if ann, bob := r.list(s, "ann"), r.list(s, "bob"); len(ann) != 0 || len(bob) != 1 {
		r.Errorf("ann has %+v, bob %+v", ann, bob)
	}
	r.notify(s, "bob", "c9", Done)
	if err := r.db.Update(r.Context(), func(q store.Querier) error { return Forget(r.Context(), q, "bob") }); err != nil {
		r.Fatal(err)
	}
	var n int
	if err := r.db.QueryRow(r.Context(), `SELECT (SELECT count(*) FROM {push_subscriptions}) + (SELECT count(*) FROM {push_waiting})`).Scan(&n); err != nil || n != 0 {
		r.Errorf("%d rows of bob: %v", n, err)
	}
}

// What is no subscription is refused, with the field.
func TestSubscribeRefuses(t *testing.T) {
	good := func() Subscription {
		return Subscription{Endpoint: "https://push.example.org/1", Keys: SubscriptionKeys{"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4", "BTBZMqHH6r4Tts7J_aSIgg"}}
	}
	for name, change := range map[string]func(s *Subscription){
		"endpoint":    func(s *Subscription) { s.Endpoint = "http://push.example.org/1" },
		"endpoint ":   func(s *Subscription) { s.Endpoint = "https://user@push.example.org/1" },
		"endpoint  ":  func(s *Subscription) { s.Endpoint = "https:///1" },
		"endpoint   ": func(s *Subscription) { s.Endpoint = "https://push.example.org/" + strings.Repeat("x", maxEndpoint) },
		"keys.p256dh": func(s *Subscription) { s.Keys.P256dh = "AAAA" },
		"keys.auth":   func(s *Subscription) { s.Keys.Auth = "AAAA" },
	} {
		s := good()
		change(&s)
		var wrong people.InputError
		if err := s.check(); !errors.As(err, &wrong) || wrong.Field != strings.TrimSpace(name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := good()
	if s.Keys.Auth += "=="; s.check() != nil {
		t.Error("padding is refused")
	}
}
