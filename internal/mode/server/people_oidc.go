package server

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/burin-dev/burin/internal/chat/oidc"
	"github.com/burin-dev/burin/internal/chat/people"
)

const flowCookieAge = 600 // seconds that somebody may take at a provider

// Bodies of requests and answers about providers.
type (
	// Ways are those to sign in, besides a password and a link.
	Ways struct {
		Passkeys  bool  `json:"passkeys"` // at this name of the server
		Providers []Way `json:"providers"`
	}
	// Way is a provider with which people sign in.
	Way struct {
		ID    string `json:"id"`
		Label string `json:"label"`
		Path  string `json:"path"` // where a browser begins
	}
	// Linking begins to link an account of a provider.
	Linking struct {
		Provider string `json:"provider"`           // its id
		Password string `json:"password,omitempty"` // missing where there is none
	}
)

// linking has people sign in with accounts that they have elsewhere, and link them.
type linking struct{ accounts accounts }

// provider is the one with an id.
func (l linking) provider(id string) (*oidc.Provider, error) {
	i := slices.IndexFunc(l.accounts.providers, func(p *oidc.Provider) bool { return p.ID == id })
	if i < 0 {
		return nil, fmt.Errorf("%w provider", people.ErrUnknown)
	}
	return l.accounts.providers[i], nil
}

func providerPath(p *oidc.Provider) string { return "/signin/with/" + p.ID }

func backPath(p *oidc.Provider) string { return providerPath(p) + "/back" }

func (l linking) ways(_ http.ResponseWriter, r *http.Request, _ nothing) (Ways, error) {
	_, err := party(r)
	is := Ways{Passkeys: err == nil, Providers: []Way{}}
	for _, p := range l.accounts.providers {
		is.Providers = append(is.Providers, Way{p.ID, p.Label, providerPath(p)})
	}
	return is, nil
}

// linkedRoutes are the operations with one's accounts elsewhere.
func (l linking) linkedRoutes() []route {
	return []route{
		about(l.accounts, "GET", "/v1/me/linked", "Lists the accounts elsewhere with which one signs in.", func(_ http.ResponseWriter, r *http.Request, _ nothing) ([]people.Identity, error) {
			return l.accounts.people.Identities().List(r.Context(), person(r))
		}),
		about(l.accounts, "POST", "/v1/me/linked/begin", "Gives the address at which a browser links an account, and sets a cookie for it.", func(w http.ResponseWriter, r *http.Request, in Linking) (Link, error) {
			to, err := l.leave(w, r, in.Provider, person(r), in.Password)
			return Link{Link: to}, err
		}),
		about(l.accounts, "POST", "/v1/me/linked/{id}/remove", "Unlinks an account.", func(_ http.ResponseWriter, r *http.Request, _ nothing) (none nothing, err error) {
			return none, l.accounts.people.Identities().Remove(r.Context(), by(r), person(r), r.PathValue("id"))
		}),
	}
}

func flowCookie(r *http.Request) string { return cookieName(r) + "-flow" }

// keepFlow has a browser keep a sign-in that is under way; "" has it forget it.
func keepFlow(w http.ResponseWriter, r *http.Request, sealed string) {
	c := &http.Cookie{
		Name: flowCookie(r), Value: sealed, Path: "/", MaxAge: flowCookieAge,
		Secure: secure(r), HttpOnly: true, SameSite: http.SameSiteLaxMode, // it comes back from another site
	}
	if sealed == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

// leave gives the address of a provider at which a browser signs in, or links an account of a person.
func (l linking) leave(w http.ResponseWriter, r *http.Request, id, person, password string) (to string, err error) {
	p, err := l.provider(id)
	if err != nil {
		return "", err
	}
	f, sealed, err := l.accounts.people.Identities().Begin(r.Context(), by(r), p.ID, person, password)
	if err != nil {
		return "", err
	}
	if to, err = p.Begin(r.Context(), site(r)+backPath(p), f.State, f.Nonce, f.Verifier); err != nil {
		return "", l.saidOf(r, p, err)
	}
	keepFlow(w, r, base64.RawURLEncoding.EncodeToString(sealed))
	return to, nil
}

// saidOf is what somebody is told of an error of a provider. The details are for the log.
func (l linking) saidOf(r *http.Request, p *oidc.Provider, err error) error {
	down := errors.Is(err, oidc.ErrDown)
	if !down && !errors.Is(err, oidc.ErrRefused) {
		return err
	}
	if l.accounts.log != nil && r.Context().Err() == nil {
		l.accounts.log.Warn("provider", "provider", p.ID, "error", err.Error())
	}
	if down {
		return fmt.Errorf("%s %w: sign in another way", p.Label, oidc.ErrDown)
	}
	return fmt.Errorf("%s %w: try again, or sign in another way", p.Label, oidc.ErrRefused)
}

// leavePage sends a browser to a provider to sign in.
func (l linking) leavePage(w http.ResponseWriter, r *http.Request) {
	to, err := l.leave(w, r, r.PathValue("provider"), "", "")
	if err != nil {
		l.accounts.wrong(w, r, signInMarkup, l.accounts.welcome(r), err)
		return
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// backPage is where a browser comes back to from a provider.
func (l linking) backPage(w http.ResponseWriter, r *http.Request) {
	keepFlow(w, r, "")
	p, err := l.provider(r.PathValue("provider"))
	var f people.Flow
	if err == nil {
		f, err = l.returned(r, p)
	}
	var is oidc.Claims
	if err == nil {
		is, err = l.claims(r, p, f)
	}
	who := people.Elsewhere{
		Label: "", Issuer: "", Subject: is.Subject, Name: is.Email, Display: is.Display, Names: is.Names,
	}
	if err == nil {
		who.Label, who.Issuer, who.Admit = p.Label, p.Issuer, people.Role(p.Admit)
		if who.Name == "" && len(is.Names) > 0 {
			who.Name = is.Names[0]
		}
	}
	if f.Person != "" {
		l.linked(w, r, f, who, err)
		return
	}
	var in people.Entrance
	if err == nil {
		in, err = l.accounts.people.Identities().SignIn(r.Context(), who, from(r))
	}
	switch {
	case errors.Is(err, people.ErrLink):
		l.accounts.wrong(w, r, signInMarkup, l.accounts.welcome(r), people.InputError{Field: "provider", Wrong: "that took too long, or was done already: sign in again"})
	case err != nil:
		l.accounts.wrong(w, r, signInMarkup, l.accounts.welcome(r), err)
	case in.Ticket != "":
		show(w, r, http.StatusOK, codeMarkup, view{title: "One more step", secret: in.Ticket})
	default:
		l.accounts.goOn(w, r, in.Secret)
	}
}

// linked ends the linking of an account, for who has begun it.
func (l linking) linked(w http.ResponseWriter, r *http.Request, f people.Flow, is people.Elsewhere, err error) {
	if person(r) != f.Person || sender(r).Device == "" { // who has signed out since, or was another one
		http.Redirect(w, r, "/signin", http.StatusSeeOther)
		return
	}
	if err == nil {
		err = l.accounts.people.Identities().Link(r.Context(), by(r), f.Person, is)
	}
	if err != nil {
		l.accounts.account(w, r, view{section: "link"}, err)
		return
	}
	http.Redirect(w, r, "/account?done=linked", http.StatusSeeOther)
}

// returned opens the flow that the browser has brought back.
func (l linking) returned(r *http.Request, p *oidc.Provider) (people.Flow, error) {
	var sealed []byte
	if all := r.CookiesNamed(flowCookie(r)); len(all) == 1 {
		sealed, _ = base64.RawURLEncoding.DecodeString(all[0].Value) // what isn't one is none
	}
	return l.accounts.people.Identities().Return(r.Context(), p.ID, r.URL.Query().Get("state"), sealed, from(r))
}

// claims are what a provider says of who came back from it, if they may sign in here.
func (l linking) claims(r *http.Request, p *oidc.Provider, f people.Flow) (is oidc.Claims, err error) {
	q := r.URL.Query()
	switch issuer := q.Get("iss"); {
	case issuer != "" && issuer != p.Issuer:
		err = fmt.Errorf("%w: the answer is of another issuer", oidc.ErrRefused)
	case q.Get("code") == "":
		err = fmt.Errorf("%w: it says %.100q", oidc.ErrRefused, q.Get("error"))
	default:
		is, err = p.Finish(r.Context(), site(r)+backPath(p), q.Get("code"), f.Nonce, f.Verifier)
	}
	why := err
	if err == nil {
		if why = p.Allows(is); why != nil {
			err = people.InputError{Field: "provider", Wrong: why.Error()}
		}
	}
	if err == nil {
		return is, nil
	}
	if !errors.Is(err, oidc.ErrDown) {
		if noted := l.accounts.people.Identities().Refused(r.Context(), p.Label, why.Error(), from(r)); noted != nil {
			return is, noted
		}
	}
	return is, l.saidOf(r, p, err)
}

// providerLinks are the parts of the sign-in page for providers.
func (m *markup) providerLinks(v view) {
	for _, p := range v.providers {
		m.put("<p class=\"also\"><a class=\"button\" href=\"%s\">Sign in with %s</a></p>\n", providerPath(p), p.Label)
	}
}

// linkedSection is the part of the account with the accounts elsewhere.
func (m *markup) linkedSection(v view) {
	if len(v.providers) == 0 && len(v.linked) == 0 {
		return
	}
	m.section("linked", "Linked accounts", "Sign in with an account that you have elsewhere.", func() {
		if len(v.linked) > 0 {
			m.put("<ul class=\"rows\">\n")
		}
		for _, one := range v.linked {
			m.put("<li><div>%s<small>", one.Label)
			if one.Name != "" {
				m.put("%s · ", one.Name)
			}
			m.put("%s · since %s</small></div>\n<form method=\"post\" action=\"/account/unlink\"><input type=\"hidden\" name=\"linked\" value=\"%s\"><button class=\"plain\" aria-label=\"Unlink %s\">Unlink</button></form></li>\n", m.used(one.Used), m.ago(one.Created), one.ID, one.Label)
		}
		if len(v.linked) > 0 {
			m.put("</ul>\n")
		}
		wrong := v.wrongs("link")
		m.wrongs(append(wrong, v.wrongs("unlink")...))
		if len(v.providers) == 0 {
			return
		}
		m.details("Link an account", len(wrong) > 0, func() {
			m.form("link", func() {
				m.put("<label for=\"provider\">Where</label>\n<select id=\"provider\" name=\"provider\">")
				for _, p := range v.providers {
					m.put("<option value=\"%s\">%s</option>", p.ID, p.Label)
				}
				m.put("</select>\n")
				m.confirm(v, "link")
				m.put(`<button class="plain">Continue</button>`)
			})
		})
	})
}

// leaveMarkup is the way to a provider after a form, from which the pages' policy lets no browser be
// sent on to another site.
func leaveMarkup(m *markup, v view) {
	m.small(v)
	m.put("<p class=\"soft\">You come back here when you have signed in there.</p>\n<p><a class=\"button\" href=\"%s\">Continue</a></p>\n%s", v.link, pageEnd)
}

// linkForm begins to link an account.
func (l linking) linkForm(w http.ResponseWriter, r *http.Request) {
	to, err := l.leave(w, r, r.PostFormValue("provider"), person(r), r.PostFormValue("password"))
	if err != nil {
		l.accounts.account(w, r, view{section: "link"}, err)
		return
	}
	w.Header().Set("Refresh", "0; url="+to)
	show(w, r, http.StatusOK, leaveMarkup, view{title: "Go on at the other site", link: to})
}
