// Package azureauth signs requests in at Azure with Microsoft Entra ID, for users who have no API
// key. It does what Microsoft's libraries do by default: a service principal of the environment, the
// identity of a cluster, that of the machine, and then the logins of az and azd. AZURE_TOKEN_CREDENTIALS
// chooses among them, and AZURE_AUTHORITY_HOST names another cloud.
//
// It promises that nothing is read or looked up before the first request needs it, that a token is
// kept until it is about to expire, and that no error holds a secret.
package azureauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

// Audience is what tokens for models hosted by Azure are for.
const Audience = "https://cognitiveservices.azure.com"

// early is how long before its end a token is renewed.
const early = 5 * time.Minute

// Signer puts tokens on requests. It is safe for concurrent use.
type Signer struct {
	getenv func(string) string
	places places
	public func() *http.Client // for Entra ID

	turn   chan struct{} // has room for one: who holds it may change what follows
	token  token
	chosen *source // what has given a token; nil: nothing yet
	imds   bool    // the metadata service of the machine has answered
}

// token is an access token.
type token struct {
	text string
	ends time.Time
}

// left is how long a token is good for.
func (t token) left() time.Duration {
	if t.text == "" {
		return 0
	}
	return time.Until(t.ends)
}

// Why the next source may be asked: this one is not set up, or it has no identity for us, which is
// worth saying.
var (
	errAbsent = errors.New("not set up")
	errNone   = errors.New("no identity")
)

// source is where tokens come from.
type source struct {
	name      string // as AZURE_TOKEN_CREDENTIALS has it
	developer bool   // it is a login of a person: if it fails, the next is asked
	get       func(*Signer, context.Context) (token, error)
}

// sources are all of them, in their order.
func sources() []source {
	return []source{
		{name: "EnvironmentCredential", get: (*Signer).principal},
		{name: "WorkloadIdentityCredential", get: (*Signer).workload},
		{name: "ManagedIdentityCredential", get: (*Signer).managed},
		{name: "AzureCLICredential", developer: true, get: (*Signer).azureCLI},
		{name: "AzureDeveloperCLICredential", developer: true, get: (*Signer).developerCLI},
	}
}

// New makes a signer. It costs nothing before its first use. getenv reads variables; nil is
// [os.Getenv].
func New(getenv func(string) string) *Signer {
	if getenv == nil {
		getenv = os.Getenv
	}
	return &Signer{getenv: getenv, places: defaultPlaces(getenv), public: viaProxy, turn: make(chan struct{}, 1)}
}

// Authorize sets the Authorization header of r to a bearer token. The body is
// not part of the credential. Errors are of kind auth, in one line.
func (s *Signer) Authorize(ctx context.Context, r *http.Request, _ []byte) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return waiting(ctx)
	}
	if s.token.left() <= early {
		now, err := s.find(ctx)
		switch {
		case err == nil:
			s.token = now
		case ctx.Err() != nil:
			return waiting(ctx)
		case s.token.left() <= 0:
			return &llm.Error{
				Kind:    llm.ErrAuth,
				Message: "no key for Azure OpenAI (AZURE_OPENAI_API_KEY) and no login with Microsoft Entra ID (try: az login): " + prose.Line(err.Error()),
				Err:     err,
			}
		}
	}
	r.Header.Set("Authorization", "Bearer "+s.token.text)
	return nil
}

func waiting(ctx context.Context) error {
	return fmt.Errorf("wait for a token of Microsoft Entra ID: %w", ctx.Err())
}

// find asks the sources for a token, one after the other; once one had some, only that one.
func (s *Signer) find(ctx context.Context) (token, error) {
	if s.chosen != nil {
		return s.chosen.get(s, ctx)
	}
	all, err := s.selected()
	if err != nil {
		return token{}, err
	}
	var tried []string
	for _, from := range all {
		t, err := from.get(s, ctx)
		if err == nil {
			s.chosen = &from
			return t, nil
		}
		if errors.Is(err, errAbsent) {
			continue
		}
		if !from.developer && !errors.Is(err, errNone) || ctx.Err() != nil {
			return token{}, fmt.Errorf("%s: %w", from.name, err)
		}
		tried = append(tried, from.name+": "+err.Error())
	}
	if tried == nil {
		return token{}, errors.New("no variables of an application, no identity of this machine, and neither az nor azd")
	}
	return token{}, errors.New(strings.Join(tried, "; "))
}

// selected are the sources that AZURE_TOKEN_CREDENTIALS allows.
func (s *Signer) selected() ([]source, error) {
	all, want := sources(), s.getenv("AZURE_TOKEN_CREDENTIALS")
	var some []source
	for _, from := range all {
		if want == "" || want == "dev" && from.developer || want == "prod" && !from.developer || strings.EqualFold(want, from.name) {
			some = append(some, from)
		}
	}
	if some == nil {
		names := []string{"dev", "prod"}
		for _, from := range all {
			names = append(names, from.name)
		}
		return nil, fmt.Errorf("AZURE_TOKEN_CREDENTIALS is %q; it may be %s", want, strings.Join(names, ", "))
	}
	return some, nil
}
