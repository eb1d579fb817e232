package awsauth_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/burin-dev/burin/llm/awsauth"
)

const converse = "https://bedrock-runtime.us-west-2.amazonaws.com/model/x/converse"

// alone hides the credentials of the machine the test runs on.
func alone(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, entry := range os.Environ() {
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, value) // restored afterwards
			os.Unsetenv(name)
		}
	}
	t.Setenv("HOME", dir)
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(dir, "config"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(dir, "credentials"))
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// authorized is the request as it would go out.
func authorized(t *testing.T, auth *awsauth.Auth) *http.Request {
	t.Helper()
	req := request(t, "POST", converse)
	if err := auth.Authorize(t.Context(), req, nil, "bedrock"); err != nil {
		t.Fatal(err)
	}
	return req
}

// signer is the access key id that signed req.
func signer(req *http.Request) string {
	_, rest, _ := strings.Cut(req.Header.Get("Authorization"), "Credential=")
	id, _, _ := strings.Cut(rest, "/")
	return id
}

func TestOrder(t *testing.T) {
	alone(t)
	keys := []string{"AWS_ACCESS_KEY_ID", "AKIDENV", "AWS_SECRET_ACCESS_KEY", "s3cret"}
	for _, tt := range []struct {
		name  string
		given string
		env   []string
		want  string
	}{
		{"given", "Bearer mine", append(keys, "AWS_BEARER_TOKEN_BEDROCK", "tok", "AWS_BEDROCK_SKIP_AUTH", "1"), "Bearer mine"},
		{"bearer before keys", "", append(keys, "AWS_BEARER_TOKEN_BEDROCK", "tok"), "Bearer tok"},
		{"skip hides the token", "", append(keys, "AWS_BEARER_TOKEN_BEDROCK", "tok", "AWS_BEDROCK_SKIP_AUTH", "1"), "AWS4-HMAC-SHA256 Credential=none/"},
		{"keys", "", keys, "AWS4-HMAC-SHA256 Credential=AKIDENV/"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := request(t, "POST", converse)
			if tt.given != "" {
				req.Header.Set("Authorization", tt.given)
			}
			if err := awsauth.New(awsauth.Options{Getenv: env(tt.env...)}).Authorize(t.Context(), req, nil, "bedrock"); err != nil {
				t.Fatal(err)
			}
			if got := req.Header.Get("Authorization"); !strings.HasPrefix(got, tt.want) {
				t.Errorf("Authorization %q, want %q", got, tt.want)
			}
		})
	}
}

func TestProfiles(t *testing.T) {
	dir := alone(t)
	write(t, filepath.Join(dir, "config"), "[default]\nregion = eu-west-3\n[profile work]\nregion = ap-south-1\n")
	write(t, filepath.Join(dir, "credentials"), "[default]\naws_access_key_id = AKIDDEFAULT\naws_secret_access_key = a\n"+
		"[work]\naws_access_key_id = AKIDWORK\naws_secret_access_key = b\naws_session_token = session\n")

	auth := awsauth.New(awsauth.Options{})
	if got := signer(authorized(t, auth)); got != "AKIDDEFAULT" {
		t.Errorf("signed by %s", got)
	}
	if got := auth.Region(t.Context()); got != "eu-west-3" {
		t.Errorf("region %s", got)
	}
	work := awsauth.New(awsauth.Options{Profile: "work"})
	req := authorized(t, work)
	if got := signer(req); got != "AKIDWORK" || req.Header.Get("X-Amz-Security-Token") != "session" {
		t.Errorf("signed by %s, token %q", got, req.Header.Get("X-Amz-Security-Token"))
	}
	if got := work.Region(t.Context()); got != "ap-south-1" {
		t.Errorf("region %s", got)
	}
	t.Setenv("AWS_PROFILE", "work")
	if got := signer(authorized(t, awsauth.New(awsauth.Options{}))); got != "AKIDWORK" {
		t.Errorf("with AWS_PROFILE signed by %s", got)
	}
}

func TestRegion(t *testing.T) {
	alone(t)
	for _, tt := range []struct {
		name, option string
		env          []string
		want         string
	}{
		{"option", "eu-west-1", []string{"AWS_REGION", "us-west-2"}, "eu-west-1"},
		{"AWS_REGION", "", []string{"AWS_DEFAULT_REGION", "us-west-1", "AWS_REGION", "us-west-2"}, "us-west-2"},
		{"AWS_DEFAULT_REGION", "", []string{"AWS_DEFAULT_REGION", "us-west-1"}, "us-west-1"},
		{"nothing", "", nil, "us-east-1"},
	} {
		if got := awsauth.New(awsauth.Options{Region: tt.option, Getenv: env(tt.env...)}).Region(t.Context()); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestRegionOf(t *testing.T) {
	for host, want := range map[string]string{
		"bedrock-runtime.us-west-2.amazonaws.com":                   "us-west-2",
		"bedrock-runtime-fips.us-gov-west-1.amazonaws.com":          "us-gov-west-1",
		"bedrock-runtime.cn-north-1.amazonaws.com.cn":               "cn-north-1",
		"bedrock-runtime.eu-west-1.api.aws":                         "eu-west-1",
		"bedrock.us-east-1.amazonaws.com":                           "us-east-1",
		"vpce-0a1b-x.bedrock-runtime.ap-south-1.vpce.amazonaws.com": "ap-south-1",
		"bedrock-runtime.us-west-2.amazonaws.com.attacker.example":  "",
		"gateway.example":               "",
		"localhost":                     "",
		"bedrock-runtime.amazonaws.com": "",
	} {
		if got := awsauth.RegionOf(host); got != want {
			t.Errorf("%s: got %q, want %q", host, got, want)
		}
	}
}

// TestContainer takes credentials from a container's endpoint and asks again
// only when they are about to expire.
func TestContainer(t *testing.T) {
	alone(t)
	var asked atomic.Int32
	var life atomic.Int64
	life.Store(int64(time.Hour))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "container-token" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		n := asked.Add(1)
		fmt.Fprintf(w, `{"AccessKeyId":"AKIDBOX%d","SecretAccessKey":"x","Token":"t","Expiration":%q}`, n, time.Now().Add(time.Duration(life.Load())).UTC().Format(time.RFC3339))
	}))
	defer srv.Close()
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", srv.URL+"/creds")
	t.Setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "container-token")

	auth := awsauth.New(awsauth.Options{})
	if asked.Load() != 0 {
		t.Error("New looked for credentials")
	}
	for range 3 {
		if got := signer(authorized(t, auth)); got != "AKIDBOX1" {
			t.Fatalf("signed by %s", got)
		}
	}
	life.Store(int64(-time.Hour))
	expiring := awsauth.New(awsauth.Options{})
	first, second := signer(authorized(t, expiring)), signer(authorized(t, expiring))
	if first == second {
		t.Errorf("expired credentials of %s were used again", first)
	}
}

// TestWebIdentity exchanges a token at a loopback STS.
func TestWebIdentity(t *testing.T) {
	dir := alone(t)
	write(t, filepath.Join(dir, "token"), "the-identity")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil || r.Form.Get("Action") != "AssumeRoleWithWebIdentity" || r.Form.Get("WebIdentityToken") != "the-identity" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		fmt.Fprintf(w, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials>`+
			`<AccessKeyId>AKIDROLE</AccessKeyId><SecretAccessKey>x</SecretAccessKey><SessionToken>role-session</SessionToken><Expiration>%s</Expiration>`+
			`</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	}))
	defer srv.Close()
	t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", filepath.Join(dir, "token"))
	t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/burin")
	t.Setenv("AWS_ENDPOINT_URL_STS", srv.URL)
	req := authorized(t, awsauth.New(awsauth.Options{Region: "us-west-2"}))
	if got := signer(req); got != "AKIDROLE" || req.Header.Get("X-Amz-Security-Token") != "role-session" {
		t.Errorf("signed by %s", got)
	}
}

func TestErrors(t *testing.T) {
	dir := alone(t)
	write(t, filepath.Join(dir, "config"), "[profile broken]\ncredential_process = /nonexistent/helper --key hidden\n"+
		"[profile corp]\nsso_start_url = https://x.awsapps.com/start\nsso_region = us-east-1\nsso_account_id = 1\nsso_role_name = r\n")
	for _, tt := range []struct {
		profile string
		want    []string
	}{
		{"", []string{"no AWS credentials found", "AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "SSO", "instance"}},
		{"nowhere", []string{`profile "nowhere" does not exist`, "~/.aws/config"}},
		{"broken", []string{`profile "broken"`}},
		{"corp", []string{`profile "corp"`, "aws sso login --profile corp"}},
	} {
		t.Run(tt.profile, func(t *testing.T) {
			err := awsauth.New(awsauth.Options{Profile: tt.profile}).Authorize(t.Context(), request(t, "POST", converse), nil, "bedrock")
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not name %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "\n") || len(err.Error()) > 400 {
				t.Errorf("not one line: %q", err)
			}
		})
	}
}

// TestLoginLater sees credentials that appear after a failure.
func TestLoginLater(t *testing.T) {
	dir := alone(t)
	auth := awsauth.New(awsauth.Options{})
	if err := auth.Authorize(t.Context(), request(t, "POST", converse), nil, "bedrock"); err == nil {
		t.Fatal("authorized without credentials")
	}
	write(t, filepath.Join(dir, "credentials"), "[default]\naws_access_key_id = AKIDNEW\naws_secret_access_key = a\n")
	if got := signer(authorized(t, auth)); got != "AKIDNEW" {
		t.Errorf("signed by %s", got)
	}
}

func TestCancelled(t *testing.T) {
	alone(t)
	ctx, cancel := context.WithCancel(t.Context())
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", hang(t, cancel))
	if err := awsauth.New(awsauth.Options{}).Authorize(ctx, request(t, "POST", converse), nil, "bedrock"); err != context.Canceled {
		t.Errorf("got %v", err)
	}
}

// hang is the URL of a server that never answers; until the test is over; it calls reached when asked.
func hang(t *testing.T, reached func()) string {
	over := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		reached()
		<-over
	}))
	t.Cleanup(func() { close(over); srv.Close() })
	return srv.URL
}

// BenchmarkAuthorize signs with keys of the environment, which is what each
// request costs once credentials are known.
func BenchmarkAuthorize(b *testing.B) {
	auth := awsauth.New(awsauth.Options{Getenv: env("AWS_REGION", "us-west-2", "AWS_ACCESS_KEY_ID", suiteKey, "AWS_SECRET_ACCESS_KEY", suiteSecret)})
	body := []byte(strings.Repeat("x", 10_000))
	req := request(b, "POST", converse)
	b.ReportAllocs()
	for b.Loop() {
		req.Header.Del("Authorization")
		if err := auth.Authorize(b.Context(), req, body, "bedrock"); err != nil {
			b.Fatal(err)
		}
	}
}

// Who signs by themselves gets the same keys, whatever bearer token there is for Bedrock.
func TestCredentials(t *testing.T) {
	dir := alone(t)
	write(t, filepath.Join(dir, "credentials"), "[default]\naws_access_key_id = OFPROFILE\naws_secret_access_key = s\n")
	t.Setenv("AWS_BEARER_TOKEN_BEDROCK", "token")
	auth := awsauth.New(awsauth.Options{})
	if keys, err := auth.Credentials(t.Context()); err != nil || keys.AccessKeyID != "OFPROFILE" || keys.SecretAccessKey != "s" {
		t.Errorf("%s, %v", keys.AccessKeyID, err)
	}
}
