package people

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/prose"
)

const (
	maxIdentities = 10
	flowFor       = 10 * time.Minute
)

// identityTables are the third step of the tables.
const identityTables = `
CREATE TABLE {identities} (
	id      TEXT PRIMARY KEY,
	person  TEXT NOT NULL REFERENCES {people} (id) ON DELETE CASCADE,
	issuer  TEXT NOT NULL,
	subject TEXT NOT NULL,
	label   TEXT NOT NULL,
	name    TEXT NOT NULL,
	created INTEGER NOT NULL,
	used    INTEGER NOT NULL DEFAULT 0,
	UNIQUE (issuer, subject)
) STRICT;
CREATE INDEX identities_by_person ON {identities} (person, created);`

// Identity is an account elsewhere with which a person signs in.
type Identity struct {
	ID      string    `json:"id"`
	Label   string    `json:"label"`          // of the provider, for people
	Issuer  string    `json:"issuer"`         // its address
	Name    string    `json:"name,omitempty"` // that the person has there
	Created time.Time `json:"created"`
	Used    time.Time `json:"used,omitzero"` // last; missing: never
}

// Elsewhere is who somebody is at a provider, as it says.
type Elsewhere struct {
	Label, Issuer, Subject string
	Name                   string   // that the person has there, for people
	Display                string   // for others to see, if the person is new here
	Names                  []string // that the person could have here, the best first
	Admit                  Role     // that somebody new gets; "" is that they aren't admitted
}

// Flow is a sign-in at a provider that is under way. The browser has it, sealed.
type Flow struct {
	Provider string `json:"p"`
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"`
	Person   string `json:"o,omitempty"` // who links the account; missing: it is a sign-in
	Until    int64  `json:"u"`
}

// Identities are accounts of people elsewhere.
type Identities struct{ p *People }

// Identities gives the accounts elsewhere.
func (p *People) Identities() Identities { return Identities{p} }

const flowPlace = "people/flow"

// Begin makes a flow for a sign-in, or for a person who links an account and confirms that with the
// password where there is one. The sealed one is for the browser to bring back.
func (n Identities) Begin(ctx context.Context, by By, provider, person, password string) (f Flow, sealed []byte, err error) {
	if person != "" {
		one, err := n.p.Get(ctx, person)
		if err == nil {
			err = n.p.confirm(ctx, one, password, by.Address, "password")
		}
		if err != nil {
			return f, nil, err
		}
	}
	f = Flow{Provider: provider, State: rand.Text(), Nonce: rand.Text(), Verifier: rand.Text() + rand.Text(), Person: person, Until: n.p.now().Add(flowFor).Unix()}
	ring, err := n.p.keys.Ring(ctx, KeysID)
	if err != nil {
		return f, nil, fmt.Errorf("begin a sign-in: %w", err)
	}
	raw, err := json.Marshal(f)
	if err != nil {
		return f, nil, err
	}
	sealed, err = ring.Seal(flowPlace, raw)
	return f, sealed, err
}

// Return opens a flow that a browser brings back from a provider, with the state that came with it.
// It is good once. The error is [ErrLink] if it is none.
func (n Identities) Return(ctx context.Context, provider, state string, sealed []byte, from From) (f Flow, err error) {
	if err := n.p.guard.reserve(ctx, n.tries(from)); err != nil {
		return f, err
	}
	ring, err := n.p.keys.Ring(ctx, KeysID)
	if err != nil {
		return f, fmt.Errorf("go on with a sign-in: %w", err)
	}
	raw, err := ring.Open(flowPlace, sealed)
	if err != nil || json.Unmarshal(raw, &f) != nil || f.Provider != provider || state == "" || f.State != state || n.p.now().Unix() >= f.Until {
		return Flow{}, ErrLink
	}
	err = n.p.db.Update(ctx, func(q store.Querier) error {
		return n.p.spend(ctx, q, sealed, f.Until)
	})
	if _, refused := errors.AsType[refusedError](err); refused {
		err = ErrLink
	}
	return f, err
}

// tries are those of an address: what a provider doesn't confirm names nobody.
func (n Identities) tries(from From) []try {
	if from.Address == "" {
		return nil
	}
	return []try{{hashed("address/" + from.Address), freeAddress}}
}

// Refused notes that somebody wasn't signed in, and why.
func (n Identities) Refused(ctx context.Context, label, why string, from From) error {
	return n.p.db.Update(ctx, func(q store.Querier) error {
		return n.p.note(ctx, q, By{Address: from.Address}, signInFails, "", label+": "+prose.Plain(why, maxWhy))
	})
}

// SignIn signs in who a provider says that somebody is. A person who is new is added if the provider's people are admitted. No
// name and no address makes somebody a person who is there already: only an account that they have linked does.
func (n Identities) SignIn(ctx context.Context, is Elsewhere, from From) (in Entrance, err error) {
	var person, why string
	err = n.p.db.Update(ctx, func(q store.Querier) error {
		in, why = Entrance{}, ""
		var id string
		var disabled, factor bool
		err := q.QueryRow(ctx, `SELECT i.id, i.person, o.disabled <> 0, o.totp IS NOT NULL FROM {identities} i JOIN {people} o ON o.id = i.person
			WHERE i.issuer = ?1 AND i.subject = ?2`, asText(is.Issuer), asText(is.Subject)).Scan(&id, &person, &disabled, &factor)
		switch {
		case errors.Is(err, sql.ErrNoRows) && is.Admit == "":
			person, why = "", "nobody has linked the account"
			return InputError{"provider", fmt.Sprintf("%s knows you, but nobody here has linked that account: sign in another way and link it, or ask an admin for an invitation", is.Label)}
		case errors.Is(err, sql.ErrNoRows):
			person = ""
			if person, id, err = n.admit(ctx, q, is, from); err != nil {
				why = "the person can't be added"
				return err
			}
		case err != nil:
			return fmt.Errorf("sign in: %w", err)
		case disabled:
			why = "the person is disabled"
			return InputError{"provider", "the account can't sign in now: ask an admin"}
		}
		if _, err := q.Exec(ctx, `UPDATE {identities} SET used = ?2, label = ?3, name = ?4 WHERE id = ?1`, id, n.p.now().Unix(), is.Label, is.shown()); err != nil {
			return fmt.Errorf("sign in: %w", err)
		}
		if factor {
			in.Ticket, err = n.p.Links().link(ctx, q, linkFactor, person, "", Reset{}, By{Person: person, Address: from.Address}, n.p.now().Add(ticketFor))
			return err
		}
		in.Secret, err = n.p.enter(ctx, q, person, from)
		return err
	})
	if err != nil && why != "" {
		noted := n.p.db.Update(ctx, func(q store.Querier) error {
			return n.p.note(ctx, q, By{Address: from.Address}, signInFails, person, is.Label+": "+why)
		})
		return Entrance{}, errors.Join(err, noted)
	}
	if err != nil {
		return Entrance{}, err
	}
	return in, n.p.guard.succeeded(ctx, n.tries(from))
}

// shown is the name that a person has elsewhere, for people.
func (e Elsewhere) shown() string { return prose.Plain(asText(e.Name), maxDisplay) }

// admit adds a person who is new, with the first name that can be one here.
func (n Identities) admit(ctx context.Context, q store.Querier, is Elsewhere, from From) (person, id string, err error) {
	i := slices.IndexFunc(is.Names, func(name string) bool { return checkName(name) == nil })
	if i < 0 {
		return "", "", InputError{"provider", fmt.Sprintf("the name that you have at %s can't be one here: ask an admin for an invitation, and link the account then", is.Label)}
	}
	display, err := checkDisplay(prose.Plain(asText(is.Display), maxDisplay), is.Names[i])
	if err != nil {
		display = is.Names[i]
	}
	person, err = n.p.add(ctx, q, is.Names[i], display, is.Admit, "")
	if errors.Is(err, ErrTaken) {
		return "", "", InputError{"provider", fmt.Sprintf("the name %s is taken here: if it is yours, sign in another way and link %s in your account; else ask an admin for an invitation", is.Names[i], is.Label)}
	}
	if err == nil {
		err = n.p.note(ctx, q, By{person, from.Address}, "join", person, string(is.Admit)+" by "+is.Label)
	}
	if err == nil {
		id, err = n.add(ctx, q, person, is)
	}
	return person, id, err
}

// add keeps an account of a person in a transaction.
func (n Identities) add(ctx context.Context, q store.Querier, person string, is Elsewhere) (id string, err error) {
	var had int
	if err := q.QueryRow(ctx, `SELECT count(*) FROM {identities} WHERE person = ?1`, person).Scan(&had); err != nil {
		return "", fmt.Errorf("link an account: %w", err)
	}
	if had >= maxIdentities {
		return "", InputError{"provider", fmt.Sprintf("a person has at most %d linked accounts: unlink one", maxIdentities)}
	}
	id = strings.ToLower(rand.Text())
	added, err := q.Exec(ctx, `INSERT INTO {identities} (id, person, issuer, subject, label, name, created) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING`,
		id, person, asText(is.Issuer), asText(is.Subject), is.Label, is.shown(), n.p.now().Unix())
	if err == nil && added == 0 {
		err = InputError{"provider", fmt.Sprintf("this account of %s is linked already, with yours or another person's", is.Label)}
	}
	return id, err
}

// Link links an account with a person who is signed in.
func (n Identities) Link(ctx context.Context, by By, person string, is Elsewhere) error {
	err := n.p.change(ctx, by, person, "identity.add", is.Label, false, func(q store.Querier) error {
		_, err := n.add(ctx, q, person, is)
		return err
	})
	if err != nil {
		return err
	}
	return n.p.guard.succeeded(ctx, n.tries(From{Address: by.Address}))
}

// List returns the accounts of a person, in the order in which they were linked.
func (n Identities) List(ctx context.Context, person string) ([]Identity, error) {
	rows, err := n.p.db.Query(ctx, `SELECT id, label, issuer, name, created, used FROM {identities} WHERE person = ?1 ORDER BY created, id`, person)
	return collect(rows, err, "list the linked accounts", func(row interface{ Scan(...any) error }) (one Identity, err error) {
		var created, used int64
		err = row.Scan(&one.ID, &one.Label, &one.Issuer, &one.Name, &created, &used)
		one.Created, one.Used = since(created), since(used)
		return one, err
	})
}

// Remove unlinks an account of a person, unless nothing else would sign them in.
func (n Identities) Remove(ctx context.Context, by By, person, id string) error {
	return n.p.db.Update(ctx, func(q store.Querier) error {
		var label string
		var others int
		err := q.QueryRow(ctx, `SELECT i.label, (SELECT count(*) FROM {identities} WHERE person = ?2) - 1 + (SELECT count(*) FROM {passkeys} WHERE person = ?2) + CASE WHEN o.password <> '' THEN 1 ELSE 0 END
			FROM {identities} i JOIN {people} o ON o.id = i.person WHERE i.id = ?1 AND i.person = ?2`, asText(id), person).Scan(&label, &others)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return fmt.Errorf("%w linked account", ErrUnknown)
		case err == nil && others == 0:
			return InputError{"provider", "nothing else signs you in: set a password or add a passkey first"}
		case err == nil:
			_, err = q.Exec(ctx, `DELETE FROM {identities} WHERE id = ?1`, asText(id))
		}
		if err != nil {
			return fmt.Errorf("unlink an account: %w", err)
		}
		return n.p.note(ctx, q, by, "identity.remove", person, label)
	})
}
