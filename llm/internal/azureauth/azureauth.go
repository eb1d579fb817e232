// Package azureauth signs requests in at Azure with Microsoft Entra ID, for
// users who have no API key. The credential is looked for when the first request
// needs it, never at start-up; its library caches tokens and renews them.
package azureauth

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/burin-dev/burin/llm"
)

// Scope is the audience of tokens for models hosted by Azure.
const Scope = "https://cognitiveservices.azure.com/.default"

// Signer puts tokens on requests. It is safe for concurrent use.
type Signer struct {
	credential func() (azcore.TokenCredential, error)
}

// New makes a signer. open makes its credential, once; nil means the default
// chain: environment, workload identity, managed identity, Azure CLI, Azure
// Developer CLI.
func New(open func() (azcore.TokenCredential, error)) *Signer {
	if open == nil {
		open = func() (azcore.TokenCredential, error) { return azidentity.NewDefaultAzureCredential(nil) }
	}
	return &Signer{credential: sync.OnceValues(open)}
}

// Authorize sets the Authorization header of r to a bearer token. The body is
// not part of the credential. Errors are of kind auth, in one line.
func (s *Signer) Authorize(ctx context.Context, r *http.Request, _ []byte) error {
	c, err := s.credential()
	if err != nil {
		return refused(err)
	}
	token, err := c.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{Scope}})
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("wait for a token of Microsoft Entra ID: %w", ctx.Err())
		}
		return refused(err)
	}
	r.Header.Set("Authorization", "Bearer "+token.Token)
	return nil
}

// refused keeps only the first line of what the library says: the rest is a
// page about every credential it tried.
func refused(err error) *llm.Error {
	reason, _, _ := strings.Cut(err.Error(), "\n")
	return &llm.Error{
		Kind:    llm.ErrAuth,
		Message: "no key for Azure OpenAI (AZURE_OPENAI_API_KEY) and no login with Microsoft Entra ID (try: az login): " + strings.TrimSuffix(strings.TrimSpace(reason), ":"),
		Err:     err,
	}
}
