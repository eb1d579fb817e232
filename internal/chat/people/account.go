package people

import (
	"context"

	"github.com/burin-dev/burin/internal/chat/store"
)

// Account is all that is kept here of a person, without secrets.
type Account struct {
	Person   Person     `json:"person"`
	Limits   Limits     `json:"limits"`
	Devices  []Device   `json:"devices"`
	Passkeys []Passkey  `json:"passkeys"`
	Linked   []Identity `json:"linked"` // accounts elsewhere
	Tokens   []Token    `json:"tokens"`
	Log      []Entry    `json:"log"` // what they did, and what was done to them; newest first
}

// maxExported is how many entries of the log an account has.
const maxExported = 10_000

// Export gives all that is kept of a person.
func (p *People) Export(ctx context.Context, by By, person string) (a Account, err error) {
	if err = p.change(ctx, by, person, "export", "", false, func(store.Querier) error { return nil }); err != nil {
		return a, err
	}
	if a.Person, err = p.Get(ctx, person); err != nil {
		return a, err
	}
	if a.Limits, err = p.Limits(ctx, person); err != nil {
		return a, err
	}
	if a.Devices, err = p.Devices(ctx, person, ""); err != nil {
		return a, err
	}
	if a.Passkeys, err = p.Passkeys().List(ctx, person); err != nil {
		return a, err
	}
	if a.Linked, err = p.Identities().List(ctx, person); err != nil {
		return a, err
	}
	if a.Tokens, err = p.Tokens(ctx, person); err != nil {
		return a, err
	}
	a.Log, err = p.Audit(ctx, person, maxExported)
	return a, err
}

// Delete removes the account of a person who gives the password.
func (p *People) Delete(ctx context.Context, by By, person, password string) error {
	if person == OwnerID {
		return ErrOwner
	}
	one, err := p.Get(ctx, person)
	if err == nil {
		err = p.confirm(ctx, one, password, by.Address, "password")
	}
	if err != nil {
		return err
	}
	return p.Remove(ctx, by, person)
}
