// Package awsauth authorizes requests to Amazon's services the way the AWS
// tools do: with a bearer token, or by signing them (Signature Version 4) with
// the credentials that the environment, the profiles, SSO, web identities,
// containers or the instance offer.
//
// It promises that nothing is read or looked up before the first request needs
// it, that credentials are kept until they expire, and that no error holds a
// secret.
package awsauth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/burin-dev/burin/internal/prose"
)

// DefaultRegion is used where nothing names one.
const DefaultRegion = "us-east-1"

// Options choose whose credentials are used. The zero value is what the AWS
// tools would do.
type Options struct {
	Region  string // wins over AWS_REGION
	Profile string // wins over AWS_PROFILE
	// Getenv reads variables; nil = os.Getenv. Programs that print credentials have
	// the environment of the process.
	Getenv func(string) string
}

// Auth authorizes requests. It is safe for concurrent use.
type Auth struct {
	options Options

	mu          sync.Mutex
	credentials aws.CredentialsProvider // nil until needed, and again after it failed
	region      *string                 // of the profile, once read
}

// New makes an Auth. It costs nothing before its first use.
func New(o Options) *Auth {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	return &Auth{options: o}
}

// Region is the region of the options, of AWS_REGION, of AWS_DEFAULT_REGION, of
// the profile, or [DefaultRegion].
func (a *Auth) Region(ctx context.Context) string {
	if region := a.knownRegion(); region != "" {
		return region
	}
	return cmp.Or(a.profileRegion(), DefaultRegion)
}

// RegionOf is the region that a host name of Amazon's holds
// (bedrock-runtime.us-west-2.amazonaws.com, also through a VPC endpoint), ""
// for any other host.
func RegionOf(host string) string {
	if !strings.HasSuffix(host, ".amazonaws.com") && !strings.HasSuffix(host, ".amazonaws.com.cn") && !strings.HasSuffix(host, ".api.aws") {
		return ""
	}
	labels := strings.Split(host, ".")
	for i, label := range labels[:len(labels)-2] {
		region := labels[i+1]
		if (label == "bedrock" || strings.HasPrefix(label, "bedrock-")) && strings.Contains(region, "-") {
			return region
		}
	}
	return ""
}

// Authorize makes req, whose body is passed separately, acceptable to service
// ("bedrock"). In this order: a request that has an Authorization header is left
// as it is; AWS_BEDROCK_SKIP_AUTH=1 signs with dummy keys, for a gateway
// that does the rest; AWS_BEARER_TOKEN_BEDROCK is sent as a bearer token; else
// the request is signed with the credentials found. Skipping comes before the
// token so that a gateway never sees the real one by accident.
//
// It must be the last to change the request. The region is that of the host, if
// it is one of Amazon's, else [Auth.Region]. An error is one line that says what
// was looked for.
func (a *Auth) Authorize(ctx context.Context, req *http.Request, body []byte, service string) error {
	if req.Header.Get("Authorization") != "" {
		return nil
	}
	if a.options.Getenv("AWS_BEDROCK_SKIP_AUTH") == "1" {
		return a.sign(ctx, req, body, service, aws.Credentials{AccessKeyID: "none", SecretAccessKey: "none"})
	}
	if token := a.options.Getenv("AWS_BEARER_TOKEN_BEDROCK"); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
	keys, err := a.retrieve(ctx)
	if err != nil {
		return err
	}
	return a.sign(ctx, req, body, service, keys)
}

// Credentials gives the keys for requests that the caller signs, such as those of S3.
func (a *Auth) Credentials(ctx context.Context) (aws.Credentials, error) { return a.retrieve(ctx) }

func (a *Auth) sign(ctx context.Context, req *http.Request, body []byte, service string, keys aws.Credentials) error {
	region := RegionOf(req.URL.Hostname())
	if region == "" {
		region = a.Region(ctx)
	}
	if err := v4.NewSigner().SignHTTP(ctx, keys, req, hash(body), service, region, time.Now()); err != nil {
		return fmt.Errorf("sign the request for AWS: %w", err)
	}
	return nil
}

func hash(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// retrieve returns credentials, from the cache while they last.
func (a *Auth) retrieve(ctx context.Context) (aws.Credentials, error) {
	if id, secret := a.options.Getenv("AWS_ACCESS_KEY_ID"), a.options.Getenv("AWS_SECRET_ACCESS_KEY"); id != "" && secret != "" && a.options.Profile == "" {
		return aws.Credentials{AccessKeyID: id, SecretAccessKey: secret, SessionToken: a.options.Getenv("AWS_SESSION_TOKEN")}, nil
	}
	provider := a.provider()
	keys, err := provider.Retrieve(ctx)
	if err != nil {
		// A look-up that hangs continues after its context has ended, and whoever
		// asks the same chain would wait for it too.
		a.forget(provider)
		if ctx.Err() != nil {
			return keys, ctx.Err()
		}
		return keys, a.failure(err)
	}
	return keys, nil
}

// provider asks all places on first use, and keeps what it finds until a minute before that
// expires.
func (a *Auth) provider() aws.CredentialsProvider {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.credentials == nil {
		a.credentials = aws.NewCredentialsCache(aws.CredentialsProviderFunc(a.search), func(o *aws.CredentialsCacheOptions) {
			o.ExpiryWindow = time.Minute
		})
	}
	return a.credentials
}

// forget drops a chain that failed, so that a login in the meantime is seen.
func (a *Auth) forget(p aws.CredentialsProvider) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.credentials == p {
		a.credentials = nil
	}
}

// knownRegion is the region as far as options and environment tell it; "" leaves
// it to the profile.
func (a *Auth) knownRegion() string {
	return cmp.Or(a.options.Region, a.options.Getenv("AWS_REGION"), a.options.Getenv("AWS_DEFAULT_REGION"))
}

// profileRegion is the region of the profile, read once; "" if there is none.
func (a *Auth) profileRegion() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.region == nil {
		all, _ := a.readProfiles() // a profile that cannot be read is reported when its credentials are needed
		region := all[a.profile()]["region"]
		a.region = &region
	}
	return *a.region
}

func (a *Auth) profile() string {
	return cmp.Or(a.options.Profile, a.options.Getenv("AWS_PROFILE"), "default")
}

// failure says in one line what was looked for and what to do.
func (a *Auth) failure(err error) error {
	switch {
	case errors.Is(err, errNoProfile):
		return fmt.Errorf("the AWS profile %q does not exist: add it to ~/.aws/config or choose another with AWS_PROFILE", a.profile())
	case errors.Is(err, errNoCredentials):
		return fmt.Errorf("no AWS credentials found: set AWS_BEARER_TOKEN_BEDROCK or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or log in to profile %q (looked in the environment, ~/.aws, SSO, web identity, container and instance roles)", a.profile())
	case errors.Is(err, errLogin):
		return fmt.Errorf("the AWS login of profile %q is not valid: run aws sso login --profile %s (%s)", a.profile(), a.profile(), short(err.Error()))
	}
	return fmt.Errorf("AWS credentials of profile %q: %s", a.profile(), short(err.Error()))
}

// short is an error in one line. It holds names of files, operations and hosts, never
// credentials.
func short(text string) string {
	const limit = 240
	return prose.Cut(strings.TrimPrefix(prose.Line(text), "failed to refresh cached credentials, "), limit)
}
