package server

import (
	_ "embed" // the script
	"io"
	"net/http"

	"github.com/burin-dev/burin/internal/chat/passkey"
	"github.com/burin-dev/burin/internal/chat/people"
)

// passkeyScript is the only script of the pages: browsers give passkeys to nothing else.
//
//go:embed pages/passkeys.js
var passkeyScript string

const passkeyPath = "/passkeys.js"

func passkeyFile(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	_, _ = io.WriteString(w, passkeyScript) // who has gone reads nothing
}

// NewPasskey is a passkey to keep.
type NewPasskey struct {
	Name       string       `json:"name,omitempty"` // missing: that of the browser
	Credential passkey.Made `json:"credential"`     // what navigator.credentials.create gave, as its toJSON writes it
}

// PasskeySignIn is a sign-in with a passkey.
type PasskeySignIn struct {
	Credential passkey.Signed `json:"credential"` // what navigator.credentials.get gave, as its toJSON writes it
}

// party is this server as passkeys know it, under the name that the browser has it by.
func party(r *http.Request) (passkey.Party, error) { return passkey.PartyOf(site(r)) }

// passkeySignIn are the operations of who isn't signed in.
func (s accounts) passkeySignIn() []route {
	return []route{
		about(s, "POST", "/v1/signin/passkey/begin", "Gives the options for navigator.credentials.get, which are good for ten minutes.", func(_ http.ResponseWriter, r *http.Request, _ nothing) (passkey.Request, error) {
			party, err := party(r)
			if err != nil {
				return passkey.Request{}, err
			}
			return s.people.Passkeys().Request(r.Context(), party)
		}),
		about(s, "POST", "/v1/signin/passkey", "Signs somebody in with a passkey, and sets a cookie.", func(w http.ResponseWriter, r *http.Request, in PasskeySignIn) (none nothing, err error) {
			party, err := party(r)
			if err != nil {
				return none, err
			}
			return none, entered(w, r)(s.people.Passkeys().SignIn(r.Context(), party, in.Credential, from(r)))
		}),
	}
}

// passkeyRoutes are the operations with the passkeys of one's account.
func (s accounts) passkeyRoutes() []route {
	return []route{
		about(s, "GET", "/v1/me/passkeys", "Lists the passkeys.", func(_ http.ResponseWriter, r *http.Request, _ nothing) ([]people.Passkey, error) {
			return s.people.Passkeys().List(r.Context(), person(r))
		}),
		about(s, "POST", "/v1/me/passkeys/begin", "Gives the options for navigator.credentials.create, which are good for ten minutes.", func(_ http.ResponseWriter, r *http.Request, in Confirmation) (passkey.Creation, error) {
			party, err := party(r)
			if err != nil {
				return passkey.Creation{}, err
			}
			return s.people.Passkeys().Begin(r.Context(), by(r), person(r), in.Password, party)
		}),
		about(s, "POST", "/v1/me/passkeys", "Adds a passkey.", func(_ http.ResponseWriter, r *http.Request, in NewPasskey) (people.Passkey, error) {
			party, err := party(r)
			if err != nil {
				return people.Passkey{}, err
			}
			return s.people.Passkeys().Add(r.Context(), by(r), person(r), in.Name, r.UserAgent(), party, in.Credential)
		}),
		about(s, "POST", "/v1/me/passkeys/{id}/remove", "Removes a passkey.", func(_ http.ResponseWriter, r *http.Request, _ nothing) (none nothing, err error) {
			return none, s.people.Passkeys().Remove(r.Context(), by(r), person(r), r.PathValue("id"))
		}),
	}
}

// passkeySection is the part of the account with the passkeys. They are added by the script.
func (m *markup) passkeySection(v view) {
	m.section("passkeys", "Passkeys", "Sign in with a finger, a face or the PIN of your device, without a password and a code.", func() {
		if len(v.passkeys) > 0 {
			m.put("<ul class=\"rows\">\n")
		}
		for _, k := range v.passkeys {
			m.put("<li><div>%s<small>%s · since %s", k.Name, m.used(k.Used), m.ago(k.Created))
			if k.Server != v.party {
				m.put(" · for %s", k.Server)
			}
			m.put("</small></div>\n<form method=\"post\" action=\"/account/unpasskey\"><input type=\"hidden\" name=\"passkey\" value=\"%s\"><button class=\"plain\" aria-label=\"Remove %s\">Remove</button></form></li>\n", k.ID, k.Name)
		}
		if len(v.passkeys) > 0 {
			m.put("</ul>\n")
		}
		m.wrongs(v.wrongs("unpasskey"))
		if v.party == "" {
			m.put("<p class=\"soft\">To add one, open this server by a name: there are no passkeys for an address such as 127.0.0.1. On the machine of the server, <code>burin admin link --url http://localhost:PORT</code> prints a link.</p>\n")
			return
		}
		m.put("<p class=\"soft\" data-passkey=\"without\">To add one, allow this page to run its script, in a browser that knows passkeys.</p>\n")
		m.put("<details data-passkey=\"with\" hidden><summary>New passkey</summary>\n<form data-passkey=\"add\">\n<div class=\"wrong\" role=\"alert\" hidden></div>\n")
		m.field(nil, false, input{id: "passkey-name", name: "name", label: "Name", hint: "of the device or the password manager; may stay empty", kind: `autocomplete="off" maxlength="64"`})
		if v.me.Password {
			m.put("%s", hiddenName(v.me.Name))
			m.field(nil, false, input{id: "passkey-password", name: "password", label: "Password", kind: oldPassword})
		}
		m.put("<button class=\"plain\">Add a passkey</button></form>\n</details>\n")
	})
}

// passkeyButton is the part of the sign-in page for passkeys, which the script shows.
func (m *markup) passkeyButton(v view) {
	if v.party == "" {
		return
	}
	m.put("<form data-passkey=\"signin\" class=\"also\" hidden>\n<div class=\"wrong\" role=\"alert\" hidden></div>\n<button class=\"plain\">Sign in with a passkey</button>\n</form>\n")
}
