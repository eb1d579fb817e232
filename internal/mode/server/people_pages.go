package server

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/session/remote"
)

// page is a page for browsers. Those of accounts work without JavaScript: only what makes and asks
// passkeys is a script there.
type page struct {
	path  string // with the verb
	open  bool   // it is for who isn't signed in, too
	app   bool   // it belongs to the chat app
	serve http.HandlerFunc
}

// ServeHTTP serves a page to who may see it.
func (p page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	if p.app {
		head.Set("Content-Security-Policy", appPolicy(r))
	} else {
		sum := sha256.Sum256([]byte(pageStyle))
		head.Set("Content-Security-Policy", "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'; img-src data:; script-src "+site(r)+passkeyPath+"; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	}
	head.Set("Cross-Origin-Opener-Policy", "same-origin")
	head.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	if p.app { // dictation
		head.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(self), payment=(), usb=()")
	}
	head.Set("Referrer-Policy", "no-referrer") // the path of a link is a secret
	if !p.open && sender(r).Device == "" {     // a token, which has no account to show
		http.Redirect(w, r, "/signin", http.StatusSeeOther)
		return
	}
	p.serve(w, r)
}

// show writes a page.
func show(w http.ResponseWriter, r *http.Request, status int, write func(*markup, view), v view) {
	m := markup{german: german(r)}
	write(&m, v)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, m.String()) // who has gone reads nothing
}

// wrong shows a page again, with what is wrong.
func (s accounts) wrong(w http.ResponseWriter, r *http.Request, write func(*markup, view), v view, err error) {
	err = s.said(r, err)
	status, _ := statusOfPeople(err)
	retryAfter(w.Header(), err)
	v.wrong = inputs(err)
	show(w, r, status, write, v)
}

// inputs are the errors that an error consists of.
func inputs(err error) (all []people.InputError) {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range many.Unwrap() {
			all = append(all, inputs(one)...)
		}
		return all
	}
	if one, ok := err.(people.InputError); ok {
		return []people.InputError{one}
	}
	text := err.Error()
	if field, wrong, ok := strings.Cut(text, ": "); ok && field == "name" { // it is taken
		return []people.InputError{{Field: field, Wrong: wrong}}
	}
	return []people.InputError{{Wrong: text}}
}

// pages are the pages for browsers.
func (s accounts) pages() []page {
	return []page{
		{path: "GET /signin", open: true, serve: s.signInPage},
		{path: "POST /signin", open: true, serve: s.signInForm},
		{path: "POST /signin/code", open: true, serve: s.codeForm},
		{path: "GET /signin/with/{provider}", open: true, serve: linking{s}.leavePage},
		{path: "GET /signin/with/{provider}/back", open: true, serve: linking{s}.backPage},
		{path: "POST /signout", serve: s.signOutForm},
		{path: "GET /open/{secret}", open: true, serve: func(w http.ResponseWriter, r *http.Request) {
			show(w, r, http.StatusOK, openMarkup, view{title: "Sign in to burin"})
		}},
		{path: "POST /open/{secret}", open: true, serve: s.openForm},
		{path: "GET /join/{secret}", open: true, serve: s.joinPage},
		{path: "POST /join/{secret}", open: true, serve: s.joinForm},
		{path: "GET /reset/{secret}", open: true, serve: s.resetPage},
		{path: "POST /reset/{secret}", open: true, serve: s.resetForm},
		{path: "GET /account", serve: func(w http.ResponseWriter, r *http.Request) {
			s.account(w, r, view{done: done(r.URL.Query().Get("done"))}, nil)
		}},
		{path: "POST /account/{what}", serve: s.accountForm},
		{path: "GET " + passkeyPath, open: true, serve: passkeyFile},
	}
}

// done says what was done. What is in the address is only a key: others may have written it.
func done(what string) string {
	return map[string]string{
		"profile": "Saved.", "password": "The password is changed, and all other devices are signed out.", "signout": "The device is signed out.", "browser": "The app starts afresh in this browser.",
		"lock": "The keys are locked.", "unlock": "The keys are open.", "unown": "The server opens the keys from now on.",
		"untoken": "The token is removed.", "passkey": "The passkey is added.", "unpasskey": "The passkey is removed.", "linked": "The account is linked.", "unlink": "The account is unlinked.", "unfactor": "The second factor is off.", "reset": "The password is changed. Sign in with it.", "deleted": "The account is deleted.",
	}[what]
}

func (s accounts) signInPage(w http.ResponseWriter, r *http.Request) {
	if sender(r).Device != "" {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	v := s.welcome(r)
	v.done = done(r.URL.Query().Get("done"))
	show(w, r, http.StatusOK, signInMarkup, v)
}

// welcome is the sign-in page.
func (s accounts) welcome(r *http.Request) view {
	party, _ := party(r) // without a name there are no passkeys
	return view{title: "Welcome back", party: party.ID, providers: s.providers}
}

func (s accounts) signInForm(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimSpace(r.PostFormValue("name"))
	in, err := s.people.SignIn(r.Context(), name, r.PostFormValue("password"), from(r))
	if err == nil {
		err = s.keys.signedIn(r.Context(), in, r.PostFormValue("password"))
	}
	switch {
	case err != nil:
		v := s.welcome(r)
		v.name = name
		s.wrong(w, r, signInMarkup, v, err)
	case in.Ticket != "":
		show(w, r, http.StatusOK, codeMarkup, view{title: "One more step", secret: in.Ticket})
	default:
		s.goOn(w, r, in.Secret)
	}
}

// goOn has a browser that was signed in go on to the app.
func (s accounts) goOn(w http.ResponseWriter, r *http.Request, secret string) {
	keepCookie(w, r, secret)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (s accounts) codeForm(w http.ResponseWriter, r *http.Request) {
	ticket := r.PostFormValue("ticket")
	secret, err := s.people.SecondFactor(r.Context(), ticket, r.PostFormValue("code"), from(r))
	if errors.Is(err, people.ErrLink) {
		s.wrong(w, r, signInMarkup, s.welcome(r), people.InputError{Field: "name", Wrong: "it took too long: sign in again"})
		return
	}
	if err != nil {
		s.wrong(w, r, codeMarkup, view{title: "One more step", secret: ticket}, err)
		return
	}
	if err := s.keys.confirmed(r.Context(), ticket); err != nil {
		s.wrong(w, r, goneMarkup, view{title: "The keys can't be opened now"}, err)
		return
	}
	s.goOn(w, r, secret)
}

func (s accounts) signOutForm(w http.ResponseWriter, r *http.Request) {
	if _, err := s.signOut(w, r, nothing{}); err != nil {
		s.account(w, r, view{}, err)
		return
	}
	forgets(w) // drafts, too, which the app would have removed
	http.Redirect(w, r, "/signin", http.StatusSeeOther)
}

// forgets has the browser remove all that the app keeps there: what was read, drafts, preferences and the service worker.
// It does so without a script of the app, which may be what is broken. Not "cache": the files there have names of their content,
// and Chromium then takes long or never ends.
func forgets(w http.ResponseWriter) { w.Header().Set("Clear-Site-Data", `"storage"`) }

func (s accounts) openForm(w http.ResponseWriter, r *http.Request) {
	secret, err := s.people.Links().Open(r.Context(), r.PathValue("secret"), from(r))
	if err != nil {
		s.wrong(w, r, goneMarkup, view{title: "This link doesn't work"}, err)
		return
	}
	s.goOn(w, r, secret)
}

func (s accounts) joinPage(w http.ResponseWriter, r *http.Request) {
	role, err := s.people.Links().Invited(r.Context(), r.PathValue("secret"))
	if err != nil {
		s.wrong(w, r, goneMarkup, view{title: "This invitation doesn't work"}, err)
		return
	}
	show(w, r, http.StatusOK, joinMarkup, view{title: "Welcome to burin", role: role})
}

func (s accounts) joinForm(w http.ResponseWriter, r *http.Request) {
	code := r.PathValue("secret")
	role, err := s.people.Links().Invited(r.Context(), code)
	if err != nil {
		s.wrong(w, r, goneMarkup, view{title: "This invitation doesn't work"}, err)
		return
	}
	v := view{title: "Welcome to burin", role: role, name: r.PostFormValue("name"), display: r.PostFormValue("display")}
	secret, err := s.people.Links().Join(r.Context(), code, v.name, v.display, r.PostFormValue("password"), from(r))
	if err != nil {
		s.wrong(w, r, joinMarkup, v, err)
		return
	}
	s.goOn(w, r, secret)
}

func (s accounts) resetPage(w http.ResponseWriter, r *http.Request) {
	name, err := s.people.Links().ResetName(r.Context(), r.PathValue("secret"))
	if err != nil {
		s.wrong(w, r, goneMarkup, view{title: "This link doesn't work"}, err)
		return
	}
	show(w, r, http.StatusOK, resetMarkup, view{title: "Choose a new password", name: name, locks: s.locks(r, name)})
}

// locks reports whether the keys of a person with a name open with their password only.
func (s accounts) locks(r *http.Request, name string) bool {
	one, err := s.people.Named(r.Context(), name)
	if err != nil {
		return false
	}
	mode, _, err := s.keys.vault.Mode(r.Context(), one.ID)
	return err == nil && mode == vault.Own
}

func (s accounts) resetForm(w http.ResponseWriter, r *http.Request) {
	secret := r.PathValue("secret")
	name, err := s.people.Links().ResetName(r.Context(), secret)
	if err != nil {
		s.wrong(w, r, goneMarkup, view{title: "This link doesn't work"}, err)
		return
	}
	if err := s.people.Links().ChoosePassword(r.Context(), secret, r.PostFormValue("password"), from(r)); err != nil {
		s.wrong(w, r, resetMarkup, view{title: "Choose a new password", name: name}, err)
		return
	}
	keepCookie(w, r, "")
	http.Redirect(w, r, "/signin?done=reset", http.StatusSeeOther)
}

// account shows the account, with what is wrong.
func (s accounts) account(w http.ResponseWriter, r *http.Request, v view, wrong error) {
	who := sender(r)
	var err error
	if v.me, err = s.me(r); err == nil {
		v.devices, err = s.people.Devices(r.Context(), who.Person, who.Device)
	}
	if err == nil {
		v.tokens, err = s.people.Tokens(r.Context(), who.Person)
	}
	if err == nil {
		v.linked, err = s.people.Identities().List(r.Context(), who.Person)
	}
	if err == nil {
		v.passkeys, err = s.people.Passkeys().List(r.Context(), who.Person)
	}
	if err != nil {
		s.wrong(w, r, goneMarkup, view{title: "This can't be shown now"}, err)
		return
	}
	party, _ := party(r) // without a name no passkey can be added
	v.title, v.party, v.providers = "Your account", party.ID, s.providers
	if v.section != "profile" {
		v.display = v.me.Display
	}
	if wrong != nil {
		s.wrong(w, r, accountMarkup, v, wrong)
		return
	}
	show(w, r, http.StatusOK, accountMarkup, v)
}

// accountForm does something with the account of who is signed in.
func (s accounts) accountForm(w http.ResponseWriter, r *http.Request) {
	ctx, p, by, who, what := r.Context(), s.people, by(r), sender(r), r.PathValue("what")
	password := r.PostFormValue("password")
	v := view{section: what}
	var err error
	switch what {
	case "profile":
		v.display = r.PostFormValue("display")
		err = p.SetDisplay(ctx, by, who.Person, v.display)
	case "password":
		err = p.SetPassword(ctx, by, who.Person, r.PostFormValue("old"), password, who.Device)
	case "signout":
		err = s.leave(r, r.PostFormValue("device"))
	case "untoken":
		err = p.RemoveToken(ctx, by, who.Person, r.PostFormValue("token"))
	case "unpasskey":
		err = p.Passkeys().Remove(ctx, by, who.Person, r.PostFormValue("passkey"))
	case "link":
		linking{s}.linkForm(w, r)
		return
	case "unlink":
		err = p.Identities().Remove(ctx, by, who.Person, r.PostFormValue("linked"))
	case "unfactor":
		v.section = "factor"
		err = p.Factors().Remove(ctx, by, who.Person, password)
	case "token":
		in := NewToken{Name: r.PostFormValue("name"), Rights: remote.Rights(r.PostFormValue("rights"))}
		if in.Days, err = strconv.Atoi(r.PostFormValue("days")); err != nil {
			err = people.InputError{Field: "days", Wrong: fmt.Sprintf("must be from 0 to %d", maxDays)}
		} else {
			v.token, err = s.makeToken(r, in)
		}
	case "factor":
		v.enrollment, err = p.Factors().Enroll(ctx, by, who.Person, password)
	case "confirm":
		if v.codes, err = p.Factors().Confirm(ctx, by, who.Person, r.PostFormValue("code"), who.Device); err != nil {
			var again error
			if v.enrollment, again = p.Factors().Enrolling(ctx, who.Person); again != nil {
				err = again
			}
		}
	case "codes":
		v.section = "factor"
		v.codes, err = p.Factors().Codes(ctx, by, who.Person, password)
	case "browser":
		forgets(w)
	case "lock":
		s.keys.vault.Lock(who.Person)
	case "unlock":
		v.section = "keys"
		var is Recovery
		if is, err = s.unlock(r, Unlocking{password, r.PostFormValue("old"), r.PostFormValue("recovery")}); err == nil {
			v.recovery = is.Recovery
		}
	case "own", "unown":
		v.section = "keys"
		var is Recovery
		if is, err = s.setKeys(r, KeyMode{map[string]vault.Mode{"own": vault.Own, "unown": vault.Server}[what], password}); err == nil {
			v.recovery = is.Recovery
		}
	case "export":
		if err = s.export(w, r); err == nil {
			return
		}
	case "delete":
		if _, err = s.deleteMe(w, r, Confirmation{password}); err == nil {
			forgets(w)
			http.Redirect(w, r, "/signin?done=deleted", http.StatusSeeOther)
			return
		}
	default:
		fail(w, http.StatusNotFound, "", fmt.Errorf("nothing is at %s", r.URL.Path))
		return
	}
	if err != nil || v.token != "" || v.recovery != "" || v.codes != nil || v.enrollment.Secret != "" { // what is shown once
		s.account(w, r, v, err)
		return
	}
	http.Redirect(w, r, "/account?done="+what, http.StatusSeeOther)
}

// export sends all that is kept of an account. It gives an error if nothing was sent yet.
func (s accounts) export(w http.ResponseWriter, r *http.Request) error {
	write, err := s.o.Export(r.Context(), by(r), person(r))
	if err != nil {
		return err
	}
	download(w.Header(), "burin-account.zip", "application/zip", false)
	if err := write(paced{w}); err != nil {
		if s.log != nil && r.Context().Err() == nil {
			s.log.Error("export", "error", err.Error())
		}
		panic(http.ErrAbortHandler) // half an archive must not look like one
	}
	return nil
}
