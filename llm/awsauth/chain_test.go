package awsauth_test

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/llm/awsauth"
)

// amazon plays the services of AWS: it answers with the keys named after what was asked.
func amazon(t *testing.T, answer func(w http.ResponseWriter, r *http.Request)) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		answer(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func role(w http.ResponseWriter, id string) {
	fmt.Fprintf(w, `<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>%s</AccessKeyId><SecretAccessKey>x</SecretAccessKey><SessionToken>t</SessionToken><Expiration>%s</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`,
		id, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
}

// A role is assumed with the keys of another profile, through as many as there are, and of
// itself; the endpoint is that of a services section.
func TestAssumeRole(t *testing.T) {
	dir := alone(t)
	url := amazon(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Form.Get("Action") != "AssumeRole" || r.Form.Get("RoleSessionName") == "" {
			t.Errorf("asked %v", r.Form)
		}
		from := signer(r)
		role(w, from+">"+strings.TrimPrefix(r.Form.Get("RoleArn"), "arn:")+r.Form.Get("ExternalId")+r.Form.Get("DurationSeconds"))
	})
	write(t, filepath.Join(dir, "config"), "[default]\nregion = eu-west-1\n[profile a]\nrole_arn=arn:A\nsource_profile=b\nexternal_id=e # why\nduration_seconds: 3600\nservices = own\n"+
		"[profile b]\nrole_arn = arn:B\nsource_profile = keys\nservices=own\n[profile self]\nrole_arn = arn:S\nsource_profile = self\nservices=own\n"+
		"[profile env]\nrole_arn = arn:E\ncredential_source = Environment\nservices=own\n"+
		"[profile mfa]\nrole_arn = arn:M\nsource_profile = keys\nmfa_serial = arn:device\n[profile gone]\nrole_arn = arn:G\nsource_profile = nowhere\n"+
		"[services own]\nsts =\n  endpoint_url = "+url+"\n")
	write(t, filepath.Join(dir, "credentials"), "[keys]\naws_access_key_id = \"K\"\naws_secret_access_key = s\n[self]\naws_access_key_id = OWN\naws_secret_access_key = s\n")
	for profile, want := range map[string]string{"a": "K>B900>Ae3600", "b": "K>B900", "self": "OWN>S900", "env": "VAR>E900"} {
		t.Run(profile, func(t *testing.T) {
			t.Setenv("AWS_ACCESS_KEY_ID", "VAR")
			t.Setenv("AWS_SECRET_ACCESS_KEY", "s")
			if got := signer(authorized(t, awsauth.New(awsauth.Options{Profile: profile}))); got != want {
				t.Errorf("signed by %s, want %s", got, want)
			}
		})
	}
	for profile, want := range map[string]string{"mfa": "mfa_serial", "gone": `source_profile "nowhere" does not exist`} {
		err := awsauth.New(awsauth.Options{Profile: profile}).Authorize(t.Context(), request(t, "POST", converse), nil, "bedrock")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", profile, err, want)
		}
	}
}

// A login of aws sso login is used, renewed when it has expired, and kept again with all that
// the CLI wrote.
func TestSSO(t *testing.T) {
	dir := alone(t)
	url := amazon(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/token":
			var asked map[string]string
			if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || asked["refreshToken"] != "renew" || asked["clientId"] != "c" || asked["grantType"] != "refresh_token" {
				t.Errorf("asked %v, %v", asked, err)
			}
			fmt.Fprint(w, `{"accessToken":"new","refreshToken":"renew2","expiresIn":3600}`)
		case "/federation/credentials":
			if r.Header.Get("X-Amz-Sso_bearer_token") == "revoked" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			fmt.Fprintf(w, `{"roleCredentials":{"accessKeyId":"%s-%s-%s","secretAccessKey":"x","sessionToken":"t","expiration":%d}}`,
				r.Header.Get("X-Amz-Sso_bearer_token"), r.Form.Get("account_id"), r.Form.Get("role_name"), time.Now().Add(time.Hour).UnixMilli())
		}
	})
	t.Setenv("AWS_ENDPOINT_URL", url)
	write(t, filepath.Join(dir, "config"), "[sso-session corp]\nsso_region = us-east-1\nsso_start_url = https://x/start\n"+
		"[profile new]\nsso_session = corp\nsso_account_id = 1\nsso_role_name = r\n"+
		"[profile old]\nsso_region = us-east-1\nsso_start_url = https://old/start\nsso_account_id = 2\nsso_role_name = r\n")
	file := func(key string) string {
		sum := sha1.Sum([]byte(key))
		return filepath.Join(dir, ".aws", "sso", "cache", hex.EncodeToString(sum[:])+".json")
	}
	if err := os.MkdirAll(filepath.Dir(file("")), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, file("corp"), `{"accessToken":"tok","expiresAt":"2020-01-01T00:00:00Z","refreshToken":"renew","clientId":"c","clientSecret":"s","registrationExpiresAt":"later"}`)
	write(t, file("https://old/start"), `{"accessToken":"tok","expiresAt":"2120-01-01T00:00:00Z"}`)
	if got := signer(authorized(t, awsauth.New(awsauth.Options{Profile: "old"}))); got != "tok-2-r" {
		t.Errorf("signed by %s", got)
	}
	if got := signer(authorized(t, awsauth.New(awsauth.Options{Profile: "new"}))); got != "new-1-r" {
		t.Errorf("signed by %s", got)
	}
	raw, err := os.ReadFile(file("corp"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"accessToken":"new"`, `"refreshToken":"renew2"`, `"registrationExpiresAt":"later"`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("%s has no %s", raw, want)
		}
	}
	for name, kept := range map[string]string{"expired": `{"accessToken":"tok","expiresAt":"2020-01-01T00:00:00Z"}`, "revoked": `{"accessToken":"revoked","expiresAt":"2120-01-01T00:00:00Z"}`} {
		write(t, file("https://old/start"), kept)
		err := awsauth.New(awsauth.Options{Profile: "old"}).Authorize(t.Context(), request(t, "POST", converse), nil, "bedrock")
		if err == nil || !strings.Contains(err.Error(), "aws sso login --profile old") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A program prints the credentials. What it prints is in no error.
func TestCredentialProcess(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs of the test are shell scripts")
	}
	dir := alone(t)
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\necho '{\"Version\":1,\"AccessKeyId\":\"CLI'$5'\",\"SecretAccessKey\":\"x\"}'\n"
	if err := os.WriteFile(filepath.Join(bin, "aws"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("TMPDIR", filepath.Join(dir, "tmp")) // programs in the temporary folder are not started
	write(t, filepath.Join(dir, "config"), `[profile good]
credential_process = echo '{"Version":1,"AccessKeyId":"PROC","SecretAccessKey":"x","Expiration":"2120-01-01T00:00:00Z"}'
[profile bad]
credential_process = echo hidden
[profile fails]
credential_process = echo hidden >&2; exit 3
[profile session]
login_session = arn:aws:iam::1:user/me
`)
	for profile, want := range map[string]string{"good": "PROC", "session": "CLI--profile"} {
		if got := signer(authorized(t, awsauth.New(awsauth.Options{Profile: profile}))); got != want {
			t.Errorf("%s: signed by %s", profile, got)
		}
	}
	for _, profile := range []string{"bad", "fails"} {
		err := awsauth.New(awsauth.Options{Profile: profile}).Authorize(t.Context(), request(t, "POST", converse), nil, "bedrock")
		if err == nil || strings.Contains(err.Error(), "hidden") || !strings.Contains(err.Error(), "credential process") {
			t.Errorf("%s: %v", profile, err)
		}
	}
}

// An instance has its credentials from the metadata service, in both of its versions.
func TestInstance(t *testing.T) {
	for _, v2 := range []bool{true, false} {
		t.Run(fmt.Sprintf("v2=%v", v2), func(t *testing.T) {
			alone(t)
			t.Setenv("AWS_EC2_METADATA_DISABLED", "")
			t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", amazon(t, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.Method == "PUT" && r.URL.Path == "/latest/api/token" && v2 && r.Header.Get("X-aws-ec2-metadata-token-ttl-seconds") != "":
					fmt.Fprint(w, "ticket")
				case r.Method == "GET" && v2 == (r.Header.Get("X-aws-ec2-metadata-token") == "ticket") && strings.HasSuffix(r.URL.Path, "/security-credentials/"):
					fmt.Fprintln(w, "worker")
				case r.Method == "GET" && v2 == (r.Header.Get("X-aws-ec2-metadata-token") == "ticket") && strings.HasSuffix(r.URL.Path, "/security-credentials/worker"):
					fmt.Fprintf(w, `{"Code":"Success","AccessKeyId":"AKIDEC2","SecretAccessKey":"x","Token":"t","Expiration":%q}`, time.Now().Add(time.Hour).Format(time.RFC3339))
				default:
					w.WriteHeader(http.StatusNotFound)
				}
			}))
			if got := signer(authorized(t, awsauth.New(awsauth.Options{}))); got != "AKIDEC2" {
				t.Errorf("signed by %s", got)
			}
		})
	}
}

// The container's token goes to no other machine in the clear.
func TestContainerElsewhere(t *testing.T) {
	alone(t)
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://192.0.2.1/creds")
	t.Setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "secret")
	err := awsauth.New(awsauth.Options{}).Authorize(t.Context(), request(t, "POST", converse), nil, "bedrock")
	if err == nil || !strings.Contains(err.Error(), "use https") {
		t.Errorf("error %v", err)
	}
}

// A service that is busy is asked again; a refusal is told with the service's words.
func TestTokenServiceRefuses(t *testing.T) {
	dir := alone(t)
	write(t, filepath.Join(dir, "token"), "the-identity")
	asked := 0
	t.Setenv("AWS_ENDPOINT_URL_STS", amazon(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `<ErrorResponse><Error><Code>AccessDenied</Code><Message>not your role</Message></Error></ErrorResponse>`)
	}))
	t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", filepath.Join(dir, "token"))
	t.Setenv("AWS_ROLE_ARN", "arn:R")
	err := awsauth.New(awsauth.Options{}).Authorize(t.Context(), request(t, "POST", converse), nil, "bedrock")
	if err == nil || !strings.Contains(err.Error(), "AccessDenied: not your role") || strings.Contains(err.Error(), "the-identity") || asked != 2 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}
