package awsauth

import (
	"cmp"
	"context"
	"crypto/sha1" //nolint:gosec // names files, as the AWS tools do
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/burin-dev/burin/internal/prose"
)

// endpoint is the address of a service in a region: what the environment or the profile says,
// else Amazon's own. id is the service in their settings, host in host names.
func (l *lookUp) endpoint(p section, id, host, region string) string {
	fips := strings.EqualFold(cmp.Or(l.getenv("AWS_USE_FIPS_ENDPOINT"), p["use_fips_endpoint"]), "true")
	if !strings.EqualFold(cmp.Or(l.getenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"), p["ignore_configured_endpoint_urls"]), "true") {
		services := l.profiles["services "+p["services"]]
		if own := cmp.Or(l.getenv("AWS_ENDPOINT_URL_"+strings.ToUpper(id)), l.getenv("AWS_ENDPOINT_URL"), services[id+".endpoint_url"], p["endpoint_url"]); own != "" {
			return strings.TrimSuffix(own, "/")
		}
	}
	domain := "amazonaws.com"
	for prefix, other := range map[string]string{
		"cn-": "amazonaws.com.cn", "eusc-": "amazonaws.eu", "us-iso-": "c2s.ic.gov", "us-isob-": "sc2s.sgov.gov",
		"us-isof-": "csp.hci.ic.gov", "eu-isoe-": "cloud.adc-e.uk",
	} {
		if strings.HasPrefix(region, prefix) {
			domain = other
		}
	}
	if fips && !strings.HasPrefix(region, "us-gov-") { // there, all of them are
		host += "-fips"
	}
	return "https://" + host + "." + region + "." + domain
}

// assumeRole changes keys into those of the profile's role.
func (l *lookUp) assumeRole(ctx context.Context, p section, keys aws.Credentials) (aws.Credentials, error) {
	form := url.Values{"Action": {"AssumeRole"}, "RoleArn": {p["role_arn"]}, "DurationSeconds": {cmp.Or(p["duration_seconds"], "900")}}
	if id := p["external_id"]; id != "" {
		form.Set("ExternalId", id)
	}
	return l.sts(ctx, p, form, &keys)
}

// webIdentity changes the token that a cluster or CI put into a file into credentials.
func (l *lookUp) webIdentity(ctx context.Context, p section) (aws.Credentials, error) {
	if p["role_arn"] == "" {
		return aws.Credentials{}, errors.New("a web identity needs a role: set AWS_ROLE_ARN or role_arn")
	}
	token, err := os.ReadFile(p["web_identity_token_file"])
	if err != nil {
		return aws.Credentials{}, fmt.Errorf("read the web identity: %w", err)
	}
	form := url.Values{"Action": {"AssumeRoleWithWebIdentity"}, "RoleArn": {p["role_arn"]}, "WebIdentityToken": {string(token)}}
	return l.sts(ctx, p, form, nil)
}

// sts asks the token service, signed with keys unless they are nil.
func (l *lookUp) sts(ctx context.Context, p section, form url.Values, keys *aws.Credentials) (aws.Credentials, error) {
	form.Set("Version", "2011-06-15")
	form.Set("RoleSessionName", cmp.Or(p["role_session_name"], "burin-"+strconv.FormatInt(time.Now().UnixNano(), 10)))
	address, body := l.endpoint(p, "sts", "sts", l.region)+"/", form.Encode()
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	if keys != nil {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body))
		if err != nil {
			return aws.Credentials{}, err
		}
		req.Header = header
		if err := v4.NewSigner().SignHTTP(ctx, *keys, req, hash([]byte(body)), "sts", l.region, time.Now()); err != nil {
			return aws.Credentials{}, err
		}
	}
	raw, err := exchange(ctx, viaProxy(), http.MethodPost, address, header, body)
	if err != nil {
		return aws.Credentials{}, fmt.Errorf("%s: %w", form.Get("Action"), err)
	}
	type credentials struct {
		AccessKeyID     string `xml:"AccessKeyId"`
		SecretAccessKey string
		SessionToken    string
		Expiration      time.Time
	}
	var answer struct {
		Role     credentials `xml:"AssumeRoleResult>Credentials"`
		Identity credentials `xml:"AssumeRoleWithWebIdentityResult>Credentials"`
	}
	if err := xml.Unmarshal(raw, &answer); err != nil {
		return aws.Credentials{}, fmt.Errorf("%s: the answer is not XML with credentials", form.Get("Action"))
	}
	c := answer.Role
	if c.AccessKeyID == "" {
		c = answer.Identity
	}
	got := aws.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey, SessionToken: c.SessionToken, CanExpire: true, Expires: c.Expiration}
	if !got.HasKeys() {
		return got, fmt.Errorf("%s: the answer holds no credentials", form.Get("Action"))
	}
	return got, nil
}

// sso changes the login of aws sso login into credentials of the profile's account and role.
func (l *lookUp) sso(ctx context.Context, p section) (aws.Credentials, error) {
	region, start, cached := p["sso_region"], p["sso_start_url"], p["sso_start_url"]
	if name := p["sso_session"]; name != "" {
		s, ok := l.profiles["sso-session "+name]
		if !ok {
			return aws.Credentials{}, fmt.Errorf("there is no [sso-session %s]", name)
		}
		region, start, cached = s["sso_region"], s["sso_start_url"], name
	}
	if region == "" || start == "" || p["sso_account_id"] == "" || p["sso_role_name"] == "" {
		return aws.Credentials{}, errors.New("SSO needs sso_region, sso_start_url, sso_account_id and sso_role_name")
	}
	token, err := l.ssoToken(ctx, p, region, cached)
	if err != nil {
		return aws.Credentials{}, err
	}
	query := url.Values{"account_id": {p["sso_account_id"]}, "role_name": {p["sso_role_name"]}}
	raw, err := exchange(ctx, viaProxy(), http.MethodGet, l.endpoint(p, "sso", "portal.sso", region)+"/federation/credentials?"+query.Encode(),
		http.Header{"X-Amz-Sso_bearer_token": {token}}, "")
	if err != nil {
		var status *statusError
		if errors.As(err, &status) && status.code == http.StatusUnauthorized {
			err = fmt.Errorf("%w: %w", errLogin, err)
		}
		return aws.Credentials{}, fmt.Errorf("SSO: %w", err)
	}
	var answer struct {
		RoleCredentials struct {
			AccessKeyID     string `json:"accessKeyId"`
			SecretAccessKey string `json:"secretAccessKey"`
			SessionToken    string `json:"sessionToken"`
			Expiration      int64  `json:"expiration"`
		} `json:"roleCredentials"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil || answer.RoleCredentials.AccessKeyID == "" {
		return aws.Credentials{}, errors.New("SSO: the answer holds no credentials")
	}
	c := answer.RoleCredentials
	return aws.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey, SessionToken: c.SessionToken, CanExpire: true, Expires: time.UnixMilli(c.Expiration)}, nil
}

// ssoToken is the token that the AWS CLI keeps, renewed and kept again if it has expired and
// belongs to an sso-session.
func (l *lookUp) ssoToken(ctx context.Context, p section, region, cached string) (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	sum := sha1.Sum([]byte(cached)) //nolint:gosec // see above
	path := filepath.Join(home, ".aws", "sso", "cache", hex.EncodeToString(sum[:])+".json")
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errLogin, err)
	}
	kept := map[string]any{}
	if err := json.Unmarshal(raw, &kept); err != nil {
		return "", fmt.Errorf("%w: %s is not JSON", errLogin, path)
	}
	text := func(name string) string { s, _ := kept[name].(string); return s }
	expires, err := time.Parse(time.RFC3339, text("expiresAt"))
	if err != nil || text("accessToken") == "" {
		return "", fmt.Errorf("%w: %s holds no token", errLogin, path)
	}
	if time.Now().Before(expires) {
		return text("accessToken"), nil
	}
	if p["sso_session"] == "" || text("refreshToken") == "" || text("clientId") == "" || text("clientSecret") == "" {
		return "", fmt.Errorf("%w: the login has expired", errLogin)
	}
	body, err := json.Marshal(map[string]string{
		"grantType": "refresh_token", "refreshToken": text("refreshToken"), "clientId": text("clientId"), "clientSecret": text("clientSecret"),
	})
	if err != nil {
		return "", err
	}
	raw, err = exchange(ctx, viaProxy(), http.MethodPost, l.endpoint(p, "sso_oidc", "oidc", region)+"/token", http.Header{"Content-Type": {"application/json"}}, string(body))
	var status *statusError
	if errors.As(err, &status) && status.code/100 == 4 {
		return "", fmt.Errorf("%w: renew the login: %w", errLogin, err)
	} else if err != nil {
		return "", fmt.Errorf("renew the login of SSO: %w", err)
	}
	var answer struct {
		AccessToken  string `json:"accessToken"`
		RefreshToken string `json:"refreshToken"`
		ExpiresIn    int    `json:"expiresIn"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil || answer.AccessToken == "" {
		return "", errors.New("renew the login of SSO: the answer holds no token")
	}
	kept["accessToken"] = answer.AccessToken
	kept["expiresAt"] = time.Now().Add(time.Duration(answer.ExpiresIn) * time.Second).UTC().Format(time.RFC3339)
	if answer.RefreshToken != "" {
		kept["refreshToken"] = answer.RefreshToken
	}
	return answer.AccessToken, replace(path, kept)
}

// replace writes the whole file or nothing: the AWS CLI reads it too.
func replace(path string, kept map[string]any) error {
	raw, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".burin-*")
	if err != nil {
		return fmt.Errorf("keep the login of SSO: %w", err)
	}
	_, err = f.Write(raw)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // what failed is told already
		return fmt.Errorf("keep the login of SSO: %w", err)
	}
	return nil
}

// statusError is an answer that is not a success.
type statusError struct {
	code   int
	reason string // what the service says; never credentials
}

func (e *statusError) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("HTTP %d: %s", e.code, e.reason), ": ")
}

// exchange sends a request up to three times and gives the body of the answer.
func exchange(ctx context.Context, client *http.Client, method, address string, header http.Header, body string) ([]byte, error) {
	const tries = 3
	for n := 1; ; n++ {
		raw, err := send(ctx, client, method, address, header, body)
		var status *statusError
		if err == nil || n == tries || ctx.Err() != nil {
			return raw, err
		}
		// A new identity may not have reached all of the token service yet.
		again := errors.As(err, &status) && (status.code == http.StatusTooManyRequests || status.code >= 500 || strings.HasPrefix(status.reason, "InvalidIdentityToken"))
		if !again {
			return raw, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Duration(n) * 200 * time.Millisecond):
		}
	}
}

func send(ctx context.Context, client *http.Client, method, address string, header http.Header, body string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = header.Clone()
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 == 2 {
		return raw, nil
	}
	// One of these, as XML or JSON; what is neither tells nothing.
	var asXML struct {
		Code    string `xml:"Error>Code"`
		Message string `xml:"Error>Message"`
	}
	var asJSON struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
		Message     string `json:"message"`
	}
	_, _ = xml.Unmarshal(raw, &asXML), json.Unmarshal(raw, &asJSON)
	said := []string{}
	for _, s := range []string{asXML.Code, asXML.Message, asJSON.Error, asJSON.Description, asJSON.Message} {
		if s != "" {
			said = append(said, prose.Cut(prose.Line(s), 160))
		}
	}
	return nil, &statusError{code: resp.StatusCode, reason: strings.Join(said, ": ")}
}
