package server

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/quota"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/remote"
)

// Bodies of requests and answers about people.
type (
	// SignIn is how somebody signs in.
	SignIn struct {
		Name     string `json:"name"`
		Password string `json:"password"`
	}
	// SignedIn is how that went. The cookie is in the head.
	SignedIn struct {
		Ticket string `json:"ticket,omitempty"` // a second factor is asked for: send it with a code
	}
	// SecondFactor ends a sign-in.
	SecondFactor struct {
		Ticket string `json:"ticket"`
		Code   string `json:"code"` // of the app, or a recovery code
	}
	// OpenLink is a one-time link.
	OpenLink struct {
		Secret string `json:"secret"`
	}
	// Joining is what somebody says who was invited.
	Joining struct {
		Code     string `json:"code"`
		Name     string `json:"name"`
		Display  string `json:"display,omitempty"`
		Password string `json:"password"`
	}
	// NewPassword is one that was chosen with a link.
	NewPassword struct {
		Secret   string `json:"secret"`
		Password string `json:"password"`
	}
	// Me is who asks.
	Me struct {
		people.Person
		Rights        remote.Rights `json:"rights"`
		Device        string        `json:"device,omitempty"` // the id of the browser's
		RecoveryCodes int           `json:"recovery_codes"`   // that are left
		Limits        people.Limits `json:"limits"`
		Used          quota.Used    `json:"used"` // of the limits
		Keys          MyKeys        `json:"keys"`
	}
	// Profile is what others see.
	Profile struct {
		Display string `json:"display"`
	}
	// ChangedPassword is a new password.
	ChangedPassword struct {
		Old      string `json:"old,omitempty"` // missing where there is none
		Password string `json:"password"`
	}
	// Confirmation is the password, again; missing where there is none.
	Confirmation struct {
		Password string `json:"password,omitempty"`
	}
	// Code is one of the second factor.
	Code struct {
		Code string `json:"code"`
	}
	// Codes are recovery codes. They are shown once.
	Codes struct {
		Codes []string `json:"codes"`
	}
	// NewToken is a token to make.
	NewToken struct {
		Name   string        `json:"name"`
		Rights remote.Rights `json:"rights"`
		Days   int           `json:"days,omitempty"` // for which it is valid; missing: until it is removed
	}
	// MadeToken is the secret of a new token. It is shown once.
	MadeToken struct {
		Token string `json:"token"`
	}
	// Named is something of a person, by its name.
	Named struct {
		Name string `json:"name"`
	}
	// NewPerson is somebody to add.
	NewPerson struct {
		Name    string      `json:"name"`
		Display string      `json:"display,omitempty"`
		Role    people.Role `json:"role"`
	}
	// ChangedPerson is what to change of a person. What is missing stays.
	ChangedPerson struct {
		Role     people.Role   `json:"role,omitempty"`
		Disabled *bool         `json:"disabled,omitempty"`
		Quota    *people.Quota `json:"quota,omitempty"` // all of it
	}
	// Resetting is how a person gets in again.
	Resetting struct {
		SecondFactor bool `json:"second_factor,omitempty"` // it goes, too
		Passkeys     bool `json:"passkeys,omitempty"`      // they go, too
		Linked       bool `json:"linked,omitempty"`        // accounts elsewhere, too
	}
	// Link is one to give to somebody. It is shown once.
	Link struct {
		Link string `json:"link"`
		Note string `json:"note,omitempty"` // what it doesn't do
	}
	// Invite is an invitation to make.
	Invite struct {
		Role people.Role `json:"role"`
		Days int         `json:"days,omitempty"` // for which it is valid; missing: 7
	}
	// GroupSet is a group to make or change.
	GroupSet struct {
		Name   string   `json:"name"`
		Models []string `json:"models,omitempty"` // selectors of those that members may use; missing: all
		Budget *llm.USD `json:"budget,omitempty"` // of each member in a month; missing: none
	}
	// Membership is a person in a group.
	Membership struct {
		Group  string `json:"group"`  // its name
		Person string `json:"person"` // the id
		Leave  bool   `json:"leave,omitempty"`
	}
)

const (
	inviteDays   = 7
	maxDays      = 3650
	defaultAudit = 100
	maxAudit     = 10_000
)

// days is a time so many days from now; 0 is never.
func days(n int) (time.Time, error) {
	switch {
	case n < 0 || n > maxDays:
		return time.Time{}, people.InputError{Field: "days", Wrong: fmt.Sprintf("must be from 0 to %d", maxDays)}
	case n == 0:
		return time.Time{}, nil
	}
	return time.Now().AddDate(0, 0, n), nil
}

// about makes a route about people.
func about[In, Out any](s accounts, verb, path, text string, do func(w http.ResponseWriter, r *http.Request, in In) (Out, error)) route {
	o := route{verb: verb, path: path, about: text, people: true, serve: func(w http.ResponseWriter, r *http.Request) {
		var in In
		if verb == http.MethodPost && !read(w, r, &in) {
			return
		}
		out, err := do(w, r, in)
		if err != nil {
			s.failed(w, r, err)
			return
		}
		answer(w, http.StatusOK, out)
	}}
	if t := reflect.TypeFor[In](); t.NumField() > 0 {
		o.in = t
	}
	if t := reflect.TypeFor[Out](); t.Kind() != reflect.Struct || t.NumField() > 0 {
		o.out = t
	}
	return o
}

// nothing is an empty body.
type nothing = struct{}

// peopleRoutes are the operations about people.
func (s accounts) routes() []route {
	signIn := []route{
		about(s, "POST", "/v1/signin", "Signs somebody in with a password, and sets a cookie.", s.signIn),
		about(s, "POST", "/v1/signin/code", "Ends a sign-in with a code of the second factor.", s.secondFactor),
		about(s, "POST", "/v1/open", "Signs somebody in with a one-time link.", s.openLink),
		about(s, "POST", "/v1/join", "Makes the account of somebody who was invited, and signs them in.", s.join),
		about(s, "POST", "/v1/reset", "Sets a new password with a link of an admin.", s.choosePassword),
	}
	signIn = append(append(signIn, s.passkeySignIn()...), about(s, "GET", "/v1/signin", "Lists ways to sign in besides a password and a link.", linking{s}.ways))
	for i := range signIn {
		signIn[i].open = true
	}
	me := about(s, "GET", "/v1/me", "Says who asks, and what they may do.", func(_ http.ResponseWriter, r *http.Request, _ nothing) (Me, error) { return s.me(r) })
	me.role, me.needs = people.Viewer, remote.Watch
	account := slices.Concat(s.accountRoutes(), s.keyRoutes(), s.passkeyRoutes(), linking{s}.linkedRoutes(), s.pushRoutes())
	for i := range account {
		account[i].role, account[i].device = people.Viewer, true
	}
	admin := s.adminRoutes()
	for i := range admin {
		admin[i].role, admin[i].needs = people.Admin, remote.Own
	}
	return append(append(append(signIn, me), account...), admin...)
}

func (s accounts) signIn(w http.ResponseWriter, r *http.Request, in SignIn) (SignedIn, error) {
	entered, err := s.people.SignIn(r.Context(), in.Name, in.Password, from(r))
	if err == nil {
		err = s.keys.signedIn(r.Context(), entered, in.Password)
	}
	if entered.Secret != "" {
		keepCookie(w, r, entered.Secret)
	}
	return SignedIn{entered.Ticket}, err
}

func (s accounts) secondFactor(w http.ResponseWriter, r *http.Request, in SecondFactor) (none nothing, err error) {
	secret, err := s.people.SecondFactor(r.Context(), in.Ticket, in.Code, from(r))
	if err == nil {
		err = s.keys.confirmed(r.Context(), in.Ticket)
	}
	return none, entered(w, r)(secret, err)
}

func (s accounts) openLink(w http.ResponseWriter, r *http.Request, in OpenLink) (none nothing, err error) {
	return none, entered(w, r)(s.people.Links().Open(r.Context(), in.Secret, from(r)))
}

func (s accounts) join(w http.ResponseWriter, r *http.Request, in Joining) (none nothing, err error) {
	return none, entered(w, r)(s.people.Links().Join(r.Context(), in.Code, in.Name, in.Display, in.Password, from(r)))
}

func (s accounts) choosePassword(w http.ResponseWriter, r *http.Request, in NewPassword) (none nothing, err error) {
	return none, s.people.Links().ChoosePassword(r.Context(), in.Secret, in.Password, from(r))
}

// entered has the browser keep the secret of a device, if there is one.
func entered(w http.ResponseWriter, r *http.Request) func(secret string, err error) error {
	return func(secret string, err error) error {
		if err == nil {
			keepCookie(w, r, secret)
		}
		return err
	}
}

func (s accounts) me(r *http.Request) (me Me, err error) {
	who := sender(r)
	me.Rights, me.Device = who.Rights, who.Device
	if me.Person, err = s.people.Get(r.Context(), who.Person); err != nil {
		return me, err
	}
	if me.RecoveryCodes, err = s.people.Factors().Left(r.Context(), who.Person); err != nil {
		return me, err
	}
	if me.Limits, err = s.people.Limits(r.Context(), who.Person); err != nil {
		return me, err
	}
	if me.Used, err = s.o.Used(r.Context(), who.Person); err != nil {
		return me, err
	}
	me.Keys, err = s.myKeys(r)
	return me, err
}

func (s accounts) makeToken(r *http.Request, in NewToken) (string, error) {
	expires, err := days(in.Days)
	if err != nil {
		return "", err
	}
	return s.people.AddToken(r.Context(), by(r), person(r), in.Name, in.Rights, expires)
}

func (s accounts) signOut(w http.ResponseWriter, r *http.Request, _ nothing) (none nothing, err error) {
	who := sender(r)
	keepCookie(w, r, "")
	return none, s.leave(r, who.Device)
}

func (s accounts) deleteMe(w http.ResponseWriter, r *http.Request, in Confirmation) (none nothing, err error) {
	err = s.people.Delete(r.Context(), by(r), person(r), in.Password)
	if err == nil {
		keepCookie(w, r, "")
	}
	return none, err
}

// accountRoutes are what somebody does with their own account.
func (s accounts) accountRoutes() []route {
	ctx := func(r *http.Request) (context.Context, *people.People, people.By, Who) {
		return r.Context(), s.people, by(r), sender(r)
	}
	return []route{
		about(s, "POST", "/v1/signout", "Signs out here.", s.signOut),
		about(s, "POST", "/v1/me/profile", "Changes the name that others see.", func(_ http.ResponseWriter, r *http.Request, in Profile) (none nothing, err error) {
			ctx, p, by, who := ctx(r)
			return none, p.SetDisplay(ctx, by, who.Person, in.Display)
		}),
		about(s, "POST", "/v1/me/password", "Changes the password, and signs out all other devices.", func(_ http.ResponseWriter, r *http.Request, in ChangedPassword) (none nothing, err error) {
			ctx, p, by, who := ctx(r)
			return none, p.SetPassword(ctx, by, who.Person, in.Old, in.Password, who.Device)
		}),
		about(s, "GET", "/v1/me/devices", "Lists the browsers that are signed in.", func(_ http.ResponseWriter, r *http.Request, _ nothing) ([]people.Device, error) {
			ctx, p, _, who := ctx(r)
			return p.Devices(ctx, who.Person, who.Device)
		}),
		about(s, "POST", "/v1/me/devices/{id}/signout", "Signs a device out; what is under way on it ends within 5 seconds.", func(_ http.ResponseWriter, r *http.Request, _ nothing) (none nothing, err error) {
			return none, s.leave(r, r.PathValue("id"))
		}),
		about(s, "POST", "/v1/me/factor", "Makes the secret of a second factor, which holds once a code was confirmed.", func(_ http.ResponseWriter, r *http.Request, in Confirmation) (people.Enrollment, error) {
			ctx, p, by, who := ctx(r)
			return p.Factors().Enroll(ctx, by, who.Person, in.Password)
		}),
		about(s, "POST", "/v1/me/factor/confirm", "Asks for the second factor from now on; gives recovery codes.", func(_ http.ResponseWriter, r *http.Request, in Code) (Codes, error) {
			ctx, p, by, who := ctx(r)
			codes, err := p.Factors().Confirm(ctx, by, who.Person, in.Code, who.Device)
			return Codes{codes}, err
		}),
		about(s, "POST", "/v1/me/factor/remove", "Asks for the second factor no more.", func(_ http.ResponseWriter, r *http.Request, in Confirmation) (none nothing, err error) {
			ctx, p, by, who := ctx(r)
			return none, p.Factors().Remove(ctx, by, who.Person, in.Password)
		}),
		about(s, "POST", "/v1/me/factor/codes", "Makes new recovery codes; those before don't work any more.", func(_ http.ResponseWriter, r *http.Request, in Confirmation) (Codes, error) {
			ctx, p, by, who := ctx(r)
			codes, err := p.Factors().Codes(ctx, by, who.Person, in.Password)
			return Codes{codes}, err
		}),
		about(s, "GET", "/v1/me/tokens", "Lists the tokens of one's programs.", func(_ http.ResponseWriter, r *http.Request, _ nothing) ([]people.Token, error) {
			ctx, p, _, who := ctx(r)
			return p.Tokens(ctx, who.Person)
		}),
		about(s, "POST", "/v1/me/tokens", "Makes a token for a program.", func(_ http.ResponseWriter, r *http.Request, in NewToken) (MadeToken, error) {
			token, err := s.makeToken(r, in)
			return MadeToken{token}, err
		}),
		about(s, "POST", "/v1/me/tokens/remove", "Removes a token.", func(_ http.ResponseWriter, r *http.Request, in Named) (none nothing, err error) {
			ctx, p, by, who := ctx(r)
			return none, p.RemoveToken(ctx, by, who.Person, in.Name)
		}),
		{
			verb: "GET", path: "/v1/me/export", people: true, about: "Gives all that is kept of the account, without secrets, with projects, files and chats, as a ZIP archive.",
			gives: "application/zip", serve: func(w http.ResponseWriter, r *http.Request) {
				if err := s.export(w, r); err != nil {
					s.failed(w, r, err)
				}
			},
		},
		about(s, "POST", "/v1/me/delete", "Deletes the account.", s.deleteMe),
	}
}

// adminRoutes are the operations of admins.
func (s accounts) adminRoutes() []route {
	audit := about(s, "GET", "/v1/admin/audit", "Lists what was done with accounts, newest first.", s.audit)
	audit.query = []parameter{{"limit", fmt.Sprintf("how many at most, up to %d. Without it %d", maxAudit, defaultAudit)}, {"person", "the id of a person: what they did, and what was done to them"}}
	return []route{
		about(s, "GET", "/v1/admin/people", "Lists the people.", func(_ http.ResponseWriter, r *http.Request, _ nothing) ([]people.Person, error) {
			return s.people.List(r.Context())
		}),
		about(s, "POST", "/v1/admin/people", "Adds a person; the link lets them choose a password.", s.addPerson),
		about(s, "POST", "/v1/admin/people/{id}", "Changes a person's role or quota, disables or enables them.", s.changePerson),
		about(s, "POST", "/v1/admin/people/{id}/reset", "Makes a link with which a person chooses a new password.", func(_ http.ResponseWriter, r *http.Request, in Resetting) (Link, error) {
			secret, err := s.people.Links().Reset(r.Context(), by(r), r.PathValue("id"), people.Reset(in))
			link := Link{Link: site(r) + "/reset/" + secret}
			if mode, _, err := s.keys.vault.Mode(r.Context(), r.PathValue("id")); err == nil && mode == vault.Own {
				link.Note = KeysStayLocked
			}
			return link, err
		}),
		about(s, "POST", "/v1/admin/people/{id}/remove", "Removes a person.", func(_ http.ResponseWriter, r *http.Request, _ nothing) (none nothing, err error) {
			return none, s.people.Remove(r.Context(), by(r), r.PathValue("id"))
		}),
		about(s, "GET", "/v1/admin/tokens", "Lists the tokens of everybody's programs, without secrets.", func(_ http.ResponseWriter, r *http.Request, _ nothing) ([]people.Token, error) {
			return s.people.Tokens(r.Context(), "")
		}),
		about(s, "POST", "/v1/admin/people/{id}/tokens/remove", "Removes a token of a person; what its program does ends within 5 seconds.", func(_ http.ResponseWriter, r *http.Request, in Named) (none nothing, err error) {
			return none, s.people.RemoveToken(r.Context(), by(r), r.PathValue("id"), in.Name)
		}),
		about(s, "GET", "/v1/admin/invitations", "Lists invitations that nobody has used.", func(_ http.ResponseWriter, r *http.Request, _ nothing) ([]people.Invitation, error) {
			return s.people.Links().Invitations(r.Context())
		}),
		about(s, "POST", "/v1/admin/invitations", "Makes an invitation: a link, valid once.", s.invite),
		about(s, "POST", "/v1/admin/invitations/{id}/withdraw", "Makes an invitation worthless.", func(_ http.ResponseWriter, r *http.Request, _ nothing) (none nothing, err error) {
			id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64) // what is no number is no invitation's
			return none, s.people.Links().Withdraw(r.Context(), by(r), id)
		}),
		about(s, "GET", "/v1/admin/groups", "Lists the groups.", func(_ http.ResponseWriter, r *http.Request, _ nothing) ([]people.Group, error) {
			return s.people.Groups().List(r.Context())
		}),
		about(s, "POST", "/v1/admin/groups", "Makes a group, or changes its models and budget.", func(_ http.ResponseWriter, r *http.Request, in GroupSet) (none nothing, err error) {
			return none, s.people.Groups().Set(r.Context(), by(r), in.Name, in.Models, in.Budget)
		}),
		about(s, "POST", "/v1/admin/groups/remove", "Removes a group; its members stay.", func(_ http.ResponseWriter, r *http.Request, in Named) (none nothing, err error) {
			return none, s.people.Groups().Remove(r.Context(), by(r), in.Name)
		}),
		about(s, "POST", "/v1/admin/groups/members", "Adds a person to a group, or takes them out.", func(_ http.ResponseWriter, r *http.Request, in Membership) (none nothing, err error) {
			if in.Leave {
				return none, s.people.Groups().Leave(r.Context(), by(r), in.Group, in.Person)
			}
			return none, s.people.Groups().Join(r.Context(), by(r), in.Group, in.Person)
		}),
		audit,
	}
}

func (s accounts) addPerson(_ http.ResponseWriter, r *http.Request, in NewPerson) (Link, error) {
	id, err := s.people.Add(r.Context(), by(r), in.Name, in.Display, in.Role)
	if err != nil {
		return Link{}, err
	}
	secret, err := s.people.Links().Reset(r.Context(), by(r), id, people.Reset{})
	return Link{Link: site(r) + "/reset/" + secret}, err
}

func (s accounts) changePerson(_ http.ResponseWriter, r *http.Request, in ChangedPerson) (none nothing, err error) {
	ctx, p, by, id := r.Context(), s.people, by(r), r.PathValue("id")
	if in.Role != "" {
		err = p.SetRole(ctx, by, id, in.Role)
	}
	switch {
	case err != nil || in.Disabled == nil:
	case *in.Disabled:
		err = p.Disable(ctx, by, id)
	default:
		err = p.Enable(ctx, by, id)
	}
	if err == nil && in.Quota != nil {
		err = p.Groups().SetQuota(ctx, by, id, *in.Quota)
	}
	return none, err
}

func (s accounts) invite(_ http.ResponseWriter, r *http.Request, in Invite) (Link, error) {
	if in.Days == 0 {
		in.Days = inviteDays
	}
	expires, err := days(in.Days)
	if err != nil {
		return Link{}, err
	}
	code, err := s.people.Links().Invite(r.Context(), by(r), in.Role, expires)
	return Link{Link: site(r) + "/join/" + code}, err
}

func (s accounts) audit(_ http.ResponseWriter, r *http.Request, _ nothing) ([]people.Entry, error) {
	limit := defaultAudit
	if given := r.URL.Query().Get("limit"); given != "" {
		n, err := strconv.Atoi(given)
		if err != nil || n < 1 || n > maxAudit {
			return nil, people.InputError{Field: "limit", Wrong: fmt.Sprintf("must be from 1 to %d", maxAudit)}
		}
		limit = n
	}
	return s.people.Audit(r.Context(), r.URL.Query().Get("person"), limit)
}
