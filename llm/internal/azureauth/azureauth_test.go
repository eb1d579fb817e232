package azureauth_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/internal/azureauth"
)

type credential struct {
	scopes []string
	err    error
}

func (c *credential) GetToken(ctx context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	c.scopes = o.Scopes
	if ctx.Err() != nil {
		return azcore.AccessToken{}, ctx.Err()
	}
	return azcore.AccessToken{Token: "tok", ExpiresOn: time.Unix(1<<40, 0)}, c.err
}

func TestAuthorize(t *testing.T) {
	c := &credential{}
	opened := 0
	s := azureauth.New(func() (azcore.TokenCredential, error) { opened++; return c, nil })
	if opened != 0 {
		t.Error("the credential was looked for before it was needed")
	}
	for range 2 {
		r := httptest.NewRequest("POST", "https://res.openai.azure.com/openai/v1/responses", nil)
		if err := s.Authorize(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
		if got := r.Header.Get("Authorization"); got != "Bearer tok" {
			t.Errorf("Authorization %q", got)
		}
	}
	if opened != 1 {
		t.Errorf("the credential was opened %d times", opened)
	}
	if len(c.scopes) != 1 || c.scopes[0] != azureauth.Scope {
		t.Errorf("scopes %v", c.scopes)
	}
}

func TestAuthorizeFails(t *testing.T) {
	long := errors.New("DefaultAzureCredential: failed to acquire a token.\nAttempted credentials:\n\tEnvironmentCredential: missing")
	for name, open := range map[string]func() (azcore.TokenCredential, error){
		"no credential": func() (azcore.TokenCredential, error) { return nil, long },
		"no token":      func() (azcore.TokenCredential, error) { return &credential{err: long}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest("POST", "https://x/", nil)
			err := azureauth.New(open).Authorize(t.Context(), r, nil)
			if llm.KindOf(err) != llm.ErrAuth || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "az login") {
				t.Errorf("error %q of kind %s", err, llm.KindOf(err))
			}
			if r.Header.Get("Authorization") != "" {
				t.Error("a header was set")
			}
		})
	}
}

func TestAuthorizeCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := azureauth.New(func() (azcore.TokenCredential, error) { return &credential{}, nil })
	if err := s.Authorize(ctx, httptest.NewRequest("POST", "https://x/", nil), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestAuthorizeConcurrent(t *testing.T) {
	s := azureauth.New(func() (azcore.TokenCredential, error) { return &sharedCredential{}, nil })
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			r := httptest.NewRequest("POST", "https://x/", nil)
			if err := s.Authorize(t.Context(), r, nil); err != nil || r.Header.Get("Authorization") != "Bearer shared" {
				t.Errorf("%v, %q", err, r.Header.Get("Authorization"))
			}
		})
	}
	wg.Wait()
}

type sharedCredential struct{}

func (*sharedCredential) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: "shared"}, nil
}
