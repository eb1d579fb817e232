package awsauth

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/burin-dev/burin/internal/installed"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm/wire"
)

// errNoCredentials means that the places that need no settings offer none either.
var errNoCredentials = errors.New("no credentials found")

// errLogin means that only a new login helps.
var errLogin = errors.New("not logged in")

// lookUp is one pass over all places, in the order of the AWS tools.
type lookUp struct {
	getenv   func(string) string
	profiles profiles
	region   string
}

// search asks the web identity of the environment, if no profile was chosen by hand, and then
// the profile.
func (a *Auth) search(ctx context.Context) (aws.Credentials, error) {
	all, err := a.readProfiles()
	if err != nil {
		return aws.Credentials{}, err
	}
	l := &lookUp{getenv: a.options.Getenv, profiles: all, region: a.Region(ctx)}
	if file := l.getenv("AWS_WEB_IDENTITY_TOKEN_FILE"); file != "" && a.options.Profile == "" {
		return l.webIdentity(ctx, section{
			"web_identity_token_file": file, "role_arn": l.getenv("AWS_ROLE_ARN"), "role_session_name": l.getenv("AWS_ROLE_SESSION_NAME"),
		})
	}
	return l.profile(ctx, a.profile(), nil)
}

// profile finds the credentials of a profile. through are the profiles that led to it by
// source_profile. One that names itself means its keys.
func (l *lookUp) profile(ctx context.Context, name string, through []string) (aws.Credentials, error) {
	p, err := l.profiles.get(name)
	if err != nil {
		return aws.Credentials{}, err
	}
	source, role := p["source_profile"], p["role_arn"]
	if slices.Contains(through, name) {
		source, role = "", ""
	}
	static := aws.Credentials{AccessKeyID: p["aws_access_key_id"], SecretAccessKey: p["aws_secret_access_key"], SessionToken: p["aws_session_token"]}
	if through != nil && static.HasKeys() {
		source = ""
	}
	for _, setting := range []string{"source_profile", "credential_source", "web_identity_token_file"} {
		if p[setting] != "" && p["role_arn"] == "" {
			return aws.Credentials{}, fmt.Errorf("%s needs role_arn", setting)
		}
	}
	if role != "" && p["mfa_serial"] != "" {
		return aws.Credentials{}, errors.New("its role asks for a code (mfa_serial), which burin cannot enter: put the credentials of such a session into the environment")
	}
	var keys aws.Credentials
	switch {
	case source != "":
		if keys, err = l.profile(ctx, source, append(slices.Clip(through), name)); errors.Is(err, errNoProfile) {
			err = fmt.Errorf("source_profile %q does not exist", source)
		}
	case static.HasKeys():
		keys = static
	case p["credential_source"] != "":
		keys, err = l.named(ctx, p)
	case p["web_identity_token_file"] != "":
		return l.webIdentity(ctx, p)
	case p["sso_session"] != "" || p["sso_start_url"] != "":
		keys, err = l.sso(ctx, p)
	case p["login_session"] != "":
		// The session of aws login is renewed with a key that only the AWS CLI keeps.
		keys, err = runHelper(ctx, l.getenv, "aws", "configure", "export-credentials", "--format", "process", "--profile", name)
	case p["credential_process"] != "":
		shell := []string{"sh", "-c"}
		if runtime.GOOS == "windows" {
			shell = []string{"cmd.exe", "/C"}
		}
		keys, err = runHelper(ctx, l.getenv, append(shell, p["credential_process"])...)
	case through != nil:
		err = fmt.Errorf("source_profile %q has no credentials", name)
	case l.inContainer():
		keys, err = l.container(ctx)
	default:
		keys, err = l.instance(ctx, p)
	}
	if err != nil || role == "" {
		return keys, err
	}
	return l.assumeRole(ctx, p, keys)
}

// named is what credential_source says.
func (l *lookUp) named(ctx context.Context, p section) (aws.Credentials, error) {
	switch p["credential_source"] {
	case "Ec2InstanceMetadata":
		return l.instance(ctx, p)
	case "EcsContainer":
		if !l.inContainer() {
			return aws.Credentials{}, errors.New("credential_source is EcsContainer, but AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and AWS_CONTAINER_CREDENTIALS_FULL_URI are not set")
		}
		return l.container(ctx)
	case "Environment":
		keys := aws.Credentials{AccessKeyID: l.getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: l.getenv("AWS_SECRET_ACCESS_KEY"), SessionToken: l.getenv("AWS_SESSION_TOKEN")}
		if !keys.HasKeys() {
			return keys, errors.New("credential_source is Environment, but AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set")
		}
		return keys, nil
	}
	return aws.Credentials{}, errors.New("credential_source must be EcsContainer, Ec2InstanceMetadata or Environment")
}

// offered is how helpers, containers and instances write credentials.
type offered struct {
	Code            string
	Version         int
	AccessKeyID     string `json:"AccessKeyId"`
	SecretAccessKey string
	Token           string
	SessionToken    string
	Expiration      time.Time
}

// decode reads such credentials. Its errors quote nothing: raw holds secrets.
func decode(raw []byte) (aws.Credentials, error) {
	var o offered
	if err := json.Unmarshal(raw, &o); err != nil {
		return aws.Credentials{}, errors.New("the answer is not JSON with credentials")
	}
	keys := aws.Credentials{
		AccessKeyID: o.AccessKeyID, SecretAccessKey: o.SecretAccessKey, SessionToken: cmp.Or(o.SessionToken, o.Token),
		CanExpire: !o.Expiration.IsZero(), Expires: o.Expiration,
	}
	if !keys.HasKeys() {
		return keys, fmt.Errorf("the answer holds no credentials (code %q)", prose.Cut(prose.Line(o.Code), 40))
	}
	return keys, nil
}

// runHelper runs a program that prints credentials. Its command and its output are in no
// error: both may hold secrets.
func runHelper(ctx context.Context, getenv func(string) string, argv ...string) (aws.Credentials, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd, err := installed.Command(ctx, nil, argv[0], argv[1:]...)
	if err != nil {
		return aws.Credentials{}, fmt.Errorf("credential process: %w", err)
	}
	cmd.WaitDelay = time.Second
	for _, name := range []string{"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"} {
		if v := getenv(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	out, err := cmd.Output()
	if err != nil {
		if state := cmd.ProcessState; state != nil {
			return aws.Credentials{}, fmt.Errorf("the credential process failed: %s", state)
		}
		return aws.Credentials{}, fmt.Errorf("run %s: %w", argv[0], err)
	}
	keys, err := decode(out)
	if err != nil {
		return keys, fmt.Errorf("credential process: %w", err)
	}
	return keys, nil
}

func (l *lookUp) inContainer() bool {
	return l.getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") != "" || l.getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI") != ""
}

// container asks the endpoint of a task or pod.
func (l *lookUp) container(ctx context.Context) (aws.Credentials, error) {
	address := "http://169.254.170.2" + l.getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")
	if l.getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") == "" {
		address = l.getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI")
		if err := local(ctx, address); err != nil {
			return aws.Credentials{}, fmt.Errorf("AWS_CONTAINER_CREDENTIALS_FULL_URI: %w", err)
		}
	}
	token := l.getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN")
	if file := l.getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); file != "" {
		raw, err := os.ReadFile(file)
		if err != nil {
			return aws.Credentials{}, fmt.Errorf("read the container's token: %w", err)
		}
		token = strings.TrimRight(string(raw), "\r\n")
	}
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", token)
	}
	raw, err := exchange(ctx, direct(5*time.Second), "GET", address, header, "")
	if err != nil {
		return aws.Credentials{}, fmt.Errorf("credentials of the container: %w", err)
	}
	return decode(raw)
}

// local refuses to send the container's token in the clear to anything but the machine itself
// and the addresses of ECS and EKS.
func local(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return errors.New("not a URL")
	}
	if u.Scheme == "https" {
		return nil
	}
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		return err
	}
	for _, ip := range addresses {
		ip = ip.Unmap()
		if !ip.IsLoopback() && !slices.Contains([]string{"169.254.170.2", "169.254.170.23", "fd00:ec2::23"}, ip.String()) {
			return errors.New("http is only for this machine and the addresses of ECS and EKS: use https")
		}
	}
	return nil
}

// instance asks the metadata service of EC2, in version 2 if it has it.
func (l *lookUp) instance(ctx context.Context, p section) (aws.Credentials, error) {
	if strings.EqualFold(l.getenv("AWS_EC2_METADATA_DISABLED"), "true") {
		return aws.Credentials{}, errNoCredentials
	}
	base := cmp.Or(l.getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT"), p["ec2_metadata_service_endpoint"])
	if base == "" {
		base = "http://169.254.169.254"
		if strings.EqualFold(cmp.Or(l.getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"), p["ec2_metadata_service_endpoint_mode"]), "ipv6") {
			base = "http://[fd00:ec2::254]"
		}
	}
	base = strings.TrimSuffix(base, "/") + "/latest/"
	client := direct(2 * time.Second)
	header := http.Header{}
	token, err := exchange(ctx, client, "PUT", base+"api/token", http.Header{"X-Aws-Ec2-Metadata-Token-Ttl-Seconds": {"21600"}}, "")
	var status *statusError
	switch {
	case err == nil:
		header.Set("X-Aws-Ec2-Metadata-Token", string(token))
	case !errors.As(err, &status):
		return aws.Credentials{}, errors.Join(errNoCredentials, err) // no such service here
	case strings.EqualFold(cmp.Or(l.getenv("AWS_EC2_METADATA_V1_DISABLED"), p["ec2_metadata_v1_disabled"]), "true"):
		return aws.Credentials{}, fmt.Errorf("token of the instance: %w", err)
	}
	const path = "meta-data/iam/security-credentials/"
	roles, err := exchange(ctx, client, "GET", base+path, header, "")
	if err != nil {
		return aws.Credentials{}, errors.Join(errNoCredentials, err) // an instance without a role
	}
	role, _, _ := strings.Cut(strings.TrimSpace(string(roles)), "\n")
	raw, err := exchange(ctx, client, "GET", base+path+url.PathEscape(role), header, "")
	if err != nil {
		return aws.Credentials{}, fmt.Errorf("credentials of the instance: %w", err)
	}
	return decode(raw)
}

// direct is a client for services of the machine itself, which no proxy reaches.
func direct(limit time.Duration) *http.Client {
	return &http.Client{Timeout: limit, Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: stay}
}

// viaProxy is the client for everything else.
func viaProxy() *http.Client {
	client := *wire.DefaultClient()
	client.Timeout, client.CheckRedirect = 30*time.Second, stay
	return &client
}

// stay follows no redirect: it would take the tokens in the headers to another host.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
