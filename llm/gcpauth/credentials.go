package gcpauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google/externalaccount"
	"golang.org/x/oauth2/jwt"
)

// The types of credentials files, as https://google.aip.dev/auth/4110 and those
// after it describe them.
const (
	serviceAccount      = "service_account"
	authorizedUser      = "authorized_user"
	externalAccount     = "external_account"
	impersonatedAccount = "impersonated_service_account"
)

const tokenURL = "https://oauth2.googleapis.com/token"

// credentials is a credentials file; which fields are set depends on its type.
type credentials struct {
	path string

	Type           string `json:"type"`
	ProjectID      string `json:"project_id"`
	QuotaProjectID string `json:"quota_project_id"`

	// service_account
	ClientEmail  string `json:"client_email"`
	PrivateKeyID string `json:"private_key_id"`
	PrivateKey   string `json:"private_key"`
	TokenURI     string `json:"token_uri"`

	// authorized_user
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	RefreshToken string `json:"refresh_token"`

	// external_account
	Audience                 string                            `json:"audience"`
	SubjectTokenType         string                            `json:"subject_token_type"`
	TokenURL                 string                            `json:"token_url"`
	TokenInfoURL             string                            `json:"token_info_url"`
	CredentialSource         *externalaccount.CredentialSource `json:"credential_source"`
	WorkforcePoolUserProject string                            `json:"workforce_pool_user_project"`
	UniverseDomain           string                            `json:"universe_domain"`
	Impersonation            struct {
		TokenLifetimeSeconds int `json:"token_lifetime_seconds"`
	} `json:"service_account_impersonation"`

	// impersonated_service_account, and external_account if it has a second step
	ImpersonationURL string       `json:"service_account_impersonation_url"`
	Delegates        []string     `json:"delegates"`
	Source           *credentials `json:"source_credentials"`
}

// source returns what fetches a token, once, within ctx.
func (c *credentials) source(ctx context.Context) (oauth2.TokenSource, error) {
	switch c.Type {
	case serviceAccount:
		if c.ClientEmail == "" || c.PrivateKey == "" {
			return nil, errors.New("a service account needs client_email and private_key")
		}
		config := jwt.Config{
			Email: c.ClientEmail, PrivateKey: []byte(c.PrivateKey), PrivateKeyID: c.PrivateKeyID,
			Scopes: []string{scope}, TokenURL: c.TokenURI,
		}
		if config.TokenURL == "" {
			config.TokenURL = tokenURL
		}
		return config.TokenSource(ctx), nil
	case authorizedUser:
		config := oauth2.Config{
			ClientID: c.ClientID, ClientSecret: c.ClientSecret, Scopes: []string{scope},
			Endpoint: oauth2.Endpoint{TokenURL: c.TokenURI, AuthStyle: oauth2.AuthStyleInParams},
		}
		if config.Endpoint.TokenURL == "" {
			config.Endpoint.TokenURL = tokenURL
		}
		return config.TokenSource(ctx, &oauth2.Token{RefreshToken: c.RefreshToken}), nil
	case externalAccount:
		return externalaccount.NewTokenSource(ctx, externalaccount.Config{
			Audience: c.Audience, SubjectTokenType: c.SubjectTokenType,
			TokenURL: c.TokenURL, TokenInfoURL: c.TokenInfoURL,
			ClientID: c.ClientID, ClientSecret: c.ClientSecret, CredentialSource: c.CredentialSource,
			ServiceAccountImpersonationURL:             c.ImpersonationURL,
			ServiceAccountImpersonationLifetimeSeconds: c.Impersonation.TokenLifetimeSeconds,
			QuotaProjectID: c.QuotaProjectID, Scopes: []string{scope},
			WorkforcePoolUserProject: c.WorkforcePoolUserProject, UniverseDomain: c.UniverseDomain,
		})
	case impersonatedAccount:
		if c.Source == nil || c.ImpersonationURL == "" {
			return nil, errors.New("an impersonated account needs source_credentials and service_account_impersonation_url")
		}
		from, err := c.Source.source(ctx)
		if err != nil {
			return nil, fmt.Errorf("source_credentials: %w", err)
		}
		return tokenFunc(func() (*oauth2.Token, error) { return c.impersonate(ctx, from) }), nil
	case "":
		return nil, errors.New("the file has no type")
	}
	return nil, fmt.Errorf("credentials of type %q are not supported", c.Type)
}

type tokenFunc func() (*oauth2.Token, error)

func (f tokenFunc) Token() (*oauth2.Token, error) { return f() }

// impersonate changes a token of the source into one of the account
// (iamcredentials generateAccessToken).
func (c *credentials) impersonate(ctx context.Context, from oauth2.TokenSource) (*oauth2.Token, error) {
	body, err := json.Marshal(struct {
		Scope     []string `json:"scope"`
		Delegates []string `json:"delegates,omitempty"`
		Lifetime  string   `json:"lifetime"`
	}{[]string{scope}, c.Delegates, "3600s"})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.ImpersonationURL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := oauth2.NewClient(ctx, from).Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		return nil, &oauth2.RetrieveError{Response: resp, Body: answer}
	}
	var t struct {
		AccessToken string    `json:"accessToken"`
		ExpireTime  time.Time `json:"expireTime"`
	}
	if err := json.Unmarshal(answer, &t); err != nil || t.AccessToken == "" {
		return nil, errors.New("the answer of the credentials service holds no token")
	}
	return &oauth2.Token{AccessToken: t.AccessToken, TokenType: "Bearer", Expiry: t.ExpireTime}, nil
}
