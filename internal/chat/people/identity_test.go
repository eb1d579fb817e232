package people_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/chat/people"
)

func testIdentities(t *testing.T, h *here) {
	ctx, n := t.Context(), h.Identities()
	ann, bob := h.join("ann", people.Member), h.join("bob", people.Member)
	by := people.By{Person: ann, Address: "192.0.2.7"}
	is := people.Elsewhere{Label: "Box", Issuer: "https://box.example.org", Subject: "1", Name: "ann@example.org", Display: "Ann", Names: []string{"ann", "ann@example.org"}}
	logged := func(want string) {
		t.Helper()
		if all, err := h.Audit(ctx, "", 1); err != nil || all[0].What != "signin.fail" || all[0].Detail != want || all[0].Address != "192.0.2.7" {
			t.Errorf("the log has %+v, %v", all, err)
		}
	}
	// Neither a name nor an address makes somebody ann.
	if in, err := n.SignIn(ctx, is, atHome); !input(err, "provider") || in.Secret != "" || !strings.Contains(err.Error(), "nobody here has linked") {
		t.Errorf("%+v, %v", in, err)
	}
	logged("Box: nobody has linked the account")
	is.Admit = people.Admin
	if in, err := n.SignIn(ctx, is, atHome); !input(err, "provider") || in.Secret != "" || !strings.Contains(err.Error(), "the name ann is taken here") {
		t.Errorf("%+v, %v", in, err)
	}
	logged("Box: the person can't be added")
	is.Admit = ""
	if list, err := n.List(ctx, ann); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	// Linked, it does.
	h.must(n.Link(ctx, by, ann, is))
	if err := n.Link(ctx, people.By{Person: bob}, bob, is); !input(err, "provider") {
		t.Errorf("bob links ann's account: %v", err)
	}
	if err := n.Link(ctx, by, ann, is); !input(err, "provider") {
		t.Errorf("twice: %v", err)
	}
	h.pass(time.Hour)
	in, err := n.SignIn(ctx, is, atHome)
	h.must(err)
	if who, _, err := h.Device(ctx, in.Secret); err != nil || who.Person != ann || who.Role != people.Member {
		t.Errorf("%+v, %v", who, err)
	}
	list, err := n.List(ctx, ann)
	if err != nil || len(list) != 1 || list[0].Label != "Box" || list[0].Name != "ann@example.org" || !list[0].Used.Equal(h.clock()) {
		t.Errorf("%+v, %v", list, err)
	}
	if one, err := h.Get(ctx, ann); err != nil || one.Identities != 1 {
		t.Errorf("%+v, %v", one, err)
	}
	for _, other := range []people.Elsewhere{{Label: "Box", Issuer: is.Issuer, Subject: "2"}, {Label: "Box", Issuer: "https://evil.example", Subject: "1"}} {
		if in, err := n.SignIn(ctx, other, atHome); !input(err, "provider") {
			t.Errorf("%+v, %v", in, err)
		}
	}
	h.must(h.Disable(ctx, owner, ann))
	if in, err := n.SignIn(ctx, is, atHome); !input(err, "provider") || in.Secret != "" {
		t.Errorf("disabled: %+v, %v", in, err)
	}
	logged("Box: the person is disabled")
	h.must(h.Enable(ctx, owner, ann))
	// Somebody new is admitted once, with what can be a name.
	fresh := people.Elsewhere{Label: "Box", Issuer: is.Issuer, Subject: "7", Display: "Cäsar\u202e\n", Names: []string{"a b", "caesar@example.org"}, Admit: people.Viewer}
	for range 2 {
		in, err = n.SignIn(ctx, fresh, atHome)
		h.must(err)
	}
	who, _, err := h.Device(ctx, in.Secret)
	if err != nil || who.Name != "caesar@example.org" || who.Role != people.Viewer {
		t.Errorf("%+v, %v", who, err)
	}
	if one, err := h.Get(ctx, who.Person); err != nil || strings.ContainsAny(one.Display, "\u202e\n") || one.Password {
		t.Errorf("%+v, %v", one, err)
	}
	fresh.Subject, fresh.Names = "8", []string{"ä b"}
	if _, err := n.SignIn(ctx, fresh, atHome); !input(err, "provider") || !strings.Contains(err.Error(), "can't be one here") {
		t.Errorf("no name: %v", err)
	}
	if list, err := h.List(ctx); err != nil || len(list) != 4 {
		t.Errorf("%+v, %v", list, err)
	}
	// The last way to sign in stays.
	list, err = n.List(ctx, who.Person)
	h.must(err)
	if err := n.Remove(ctx, people.By{Person: who.Person}, who.Person, list[0].ID); !input(err, "provider") {
		t.Errorf("the last way: %v", err)
	}
	list, err = n.List(ctx, ann)
	h.must(err)
	h.is(n.Remove(ctx, people.By{Person: bob}, bob, list[0].ID), people.ErrUnknown)
	account, err := h.Export(ctx, by, ann)
	data, wrong := json.Marshal(account)
	if err != nil || wrong != nil || len(account.Linked) != 1 || !strings.Contains(string(data), "ann@example.org") {
		t.Errorf("%s, %v, %v", data, err, wrong)
	}
	h.must(n.Remove(ctx, by, ann, list[0].ID))
	if _, err := n.SignIn(ctx, is, atHome); !input(err, "provider") {
		t.Errorf("unlinked: %v", err)
	}
	// An admin's link unlinks if it says so.
	h.must(n.Link(ctx, by, ann, is))
	for _, also := range []people.Reset{{SecondFactor: true, Passkeys: true}, {Linked: true}} {
		link, err := h.Links().Reset(ctx, owner, ann, also)
		h.must(err)
		h.must(h.Links().ChoosePassword(ctx, link, password, atHome))
		if _, err := n.SignIn(ctx, is, atHome); (err != nil) != also.Linked {
			t.Errorf("after a reset with %+v: %v", also, err)
		}
	}
	h.must(n.Link(ctx, by, ann, is))
	h.must(h.Remove(ctx, owner, ann))
	var left int
	if err := h.db.QueryRow(ctx, `SELECT count(*) FROM {identities}`).Scan(&left); err != nil || left != 1 {
		t.Errorf("%d are left, %v", left, err)
	}
	log, err := h.Audit(ctx, ann, 100)
	for _, what := range []string{"identity.add", "identity.remove"} {
		if err != nil || !slices.ContainsFunc(log, func(e people.Entry) bool { return e.What == what && e.Detail == "Box" }) {
			t.Errorf("no %s in %+v, %v", what, log, err)
		}
	}
}

// A flow is for one provider and one browser, for a while, once; a second factor is asked for.
func testFlows(t *testing.T, h *here) {
	ctx, n := t.Context(), h.Identities()
	ann := h.join("ann", people.Member)
	by := people.By{Person: ann}
	if _, _, err := n.Begin(ctx, by, "box", ann, "a wrong one"); !input(err, "password") {
		t.Errorf("without the password: %v", err)
	}
	begin := func() (people.Flow, []byte) {
		t.Helper()
		f, sealed, err := n.Begin(ctx, by, "box", ann, password)
		h.must(err)
		return f, sealed
	}
	f, sealed := begin()
	if strings.Contains(string(sealed), f.State) || strings.Contains(string(sealed), f.Verifier) || f.State == f.Nonce {
		t.Error("the browser can read it")
	}
	for what, do := range map[string]func() (people.Flow, error){
		"another state":    func() (people.Flow, error) { return n.Return(ctx, "box", "other", sealed, atHome) },
		"no state":         func() (people.Flow, error) { return n.Return(ctx, "box", "", sealed, atHome) },
		"another provider": func() (people.Flow, error) { return n.Return(ctx, "other", f.State, sealed, atHome) },
		"no cookie":        func() (people.Flow, error) { return n.Return(ctx, "box", f.State, nil, atHome) },
		"another's cookie": func() (people.Flow, error) {
			_, other := begin()
			return n.Return(ctx, "box", f.State, other, atHome)
		},
		"a changed cookie": func() (people.Flow, error) {
			changed := slices.Clone(sealed)
			changed[len(changed)-1]++
			return n.Return(ctx, "box", f.State, changed, atHome)
		},
	} {
		got, err := do()
		if h.is(err, people.ErrLink); got.Verifier != "" {
			t.Errorf("%s: %+v", what, got)
		}
	}
	var won atomic.Int32
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			if got, err := n.Return(ctx, "box", f.State, sealed, atHome); err == nil && got == f {
				won.Add(1)
			}
		})
	}
	work.Wait()
	if won.Load() != 1 {
		t.Errorf("%d of 4 come back", won.Load())
	}
	f, sealed = begin()
	h.pass(11 * time.Minute)
	_, err := n.Return(ctx, "box", f.State, sealed, atHome)
	h.is(err, people.ErrLink)
	// Who comes back from one address with nothing has to wait.
	h.pass(24 * time.Hour)
	waits := false
	for range 60 {
		_, err := n.Return(ctx, "box", "x", nil, elsehere)
		waits = waits || strings.Contains(err.Error(), "too many attempts")
	}
	if !waits {
		t.Error("nobody waits")
	}
	// The second factor.
	enrolled, err := h.Factors().Enroll(ctx, by, ann, password)
	h.must(err)
	_, err = h.Factors().Confirm(ctx, by, ann, codeOf(t, enrolled.Secret, h.clock()), "")
	h.must(err)
	is := people.Elsewhere{Label: "Box", Issuer: "https://box.example.org", Subject: "1"}
	h.must(n.Link(ctx, by, ann, is))
	in, err := n.SignIn(ctx, is, atHome)
	if err != nil || in.Secret != "" || in.Ticket == "" {
		t.Fatalf("%+v, %v", in, err)
	}
	h.pass(time.Minute)
	_, err = h.SecondFactor(ctx, in.Ticket, codeOf(t, enrolled.Secret, h.clock()), atHome)
	h.must(err)
}
