package azureauth

import (
	"cmp"
	"context"
	"crypto/sha1" //nolint:gosec // how Service Fabric names its certificate
	"crypto/subtle"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// places are where the identity of a machine is found. Tests have others.
type places struct {
	imds     string // the metadata service of virtual machines
	arc      string // the agent of machines outside Azure that Arc connects
	arcAgent string // its program, which is there where it is
	arcKeys  string // the folder of its secrets
}

func defaultPlaces(getenv func(string) string) places {
	p := places{imds: "http://169.254.169.254/metadata/identity/oauth2/token", arc: "http://127.0.0.1:40342/metadata/identity/oauth2/token"}
	switch runtime.GOOS {
	case "linux":
		p.arcAgent, p.arcKeys = "/opt/azcmagent/bin/himds", "/var/opt/azcmagent/tokens"
	case "windows":
		p.arcAgent = filepath.Join(getenv("ProgramFiles"), "AzureConnectedMachineAgent", "himds.exe")
		p.arcKeys = filepath.Join(getenv("ProgramData"), "AzureConnectedMachineAgent", "Tokens")
	}
	return p
}

// managed is the identity that Azure has given the machine, the container or the app. AZURE_CLIENT_ID
// chooses one that is shared.
func (s *Signer) managed(ctx context.Context) (token, error) {
	client := s.getenv("AZURE_CLIENT_ID")
	identity, header := s.getenv("IDENTITY_ENDPOINT"), s.getenv("IDENTITY_HEADER")
	msi, secret := s.getenv("MSI_ENDPOINT"), s.getenv("MSI_SECRET")
	ask := func(transport *http.Client, address, version, name, value string, more url.Values) (token, error) {
		query := url.Values{"api-version": {version}, "resource": {Audience}}
		for k, v := range more {
			query[k] = v
		}
		return exchange(ctx, transport, http.MethodGet, with(address, query), http.Header{name: {value}}, "")
	}
	var which url.Values
	if client != "" {
		which = url.Values{"client_id": {client}}
	}
	switch {
	case identity != "" && header != "" && s.getenv("IDENTITY_SERVER_THUMBPRINT") != "":
		if client != "" {
			return token{}, fmt.Errorf("%w: Service Fabric chooses the identity itself, and AZURE_CLIENT_ID is set", errNone)
		}
		pinned, err := s.pinned(identity)
		if err != nil {
			return token{}, err
		}
		return ask(pinned, identity, "2019-07-01-preview", "Secret", header, nil)
	case identity != "" && header != "": // App Service, Functions, Container Apps
		return ask(direct(), identity, "2019-08-01", "X-Identity-Header", header, which)
	case msi != "" && secret != "": // Machine Learning
		return ask(direct(), msi, "2017-09-01", "Secret", secret, url.Values{"clientid": {cmp.Or(client, s.getenv("DEFAULT_IDENTITY_CLIENT_ID"))}})
	case msi != "": // Cloud Shell
		if client != "" {
			return token{}, fmt.Errorf("%w: Cloud Shell has one identity, and AZURE_CLIENT_ID is set", errNone)
		}
		return exchange(ctx, direct(), http.MethodPost, msi, http.Header{"Metadata": {"true"}, "Content-Type": {form}}, url.Values{"resource": {Audience}}.Encode())
	case identity != "" && s.getenv("IMDS_ENDPOINT") != "" || exists(s.places.arcAgent):
		return s.arc(ctx, cmp.Or(identity, s.places.arc), which)
	}
	if err := s.probe(ctx); err != nil {
		return token{}, err
	}
	t, err := ask(direct(), s.places.imds, "2018-02-01", "Metadata", "true", which)
	var status *statusError
	switch {
	case err == nil:
		s.imds = true
	case errors.Is(err, errAnswer), errors.As(err, &status) && (status.code == http.StatusBadRequest && client == "" || status.code == http.StatusForbidden):
		err = fmt.Errorf("%w: %w", errNone, err) // no identity here, or something else answers at this address
	}
	return t, err
}

// probe looks whether there is a metadata service, with a request that it refuses. Outside Azure
// nothing answers at its address, often not even with an error.
func (s *Signer) probe(ctx context.Context) error {
	if s.imds {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := send(ctx, direct(), http.MethodGet, s.places.imds, nil, "")
	if _, ok := errors.AsType[*statusError](err); err != nil && !ok {
		return errAbsent // so is every machine that isn't Azure's
	}
	return nil
}

// maxArcKey is the size of the largest secret of Arc's agent, in bytes.
const maxArcKey = 4096

// arc asks Arc's agent, which has who asks prove that they may read its files.
func (s *Signer) arc(ctx context.Context, address string, which url.Values) (token, error) {
	query := url.Values{"api-version": {"2020-06-01"}, "resource": {Audience}}
	for k, v := range which {
		query[k] = v
	}
	address = with(address, query)
	_, err := send(ctx, direct(), http.MethodGet, address, http.Header{"Metadata": {"true"}}, "")
	status, ok := errors.AsType[*statusError](err)
	if !ok || status.code != http.StatusUnauthorized {
		return token{}, errors.Join(errors.New("the agent of Azure Arc did not name a file with a secret"), err)
	}
	_, file, _ := strings.Cut(status.challenge, "Basic realm=")
	file = filepath.Clean(strings.Trim(file, `"`))
	if s.places.arcKeys == "" || filepath.Dir(file) != s.places.arcKeys || filepath.Ext(file) != ".key" {
		return token{}, errors.New("the agent of Azure Arc names a file that isn't one of its secrets")
	}
	if info, err := os.Stat(file); err != nil || info.Size() > maxArcKey {
		return token{}, errors.Join(errors.New("the secret of Azure Arc can't be read"), err)
	}
	key, err := os.ReadFile(file)
	if err != nil {
		return token{}, fmt.Errorf("the secret of Azure Arc: %w", err)
	}
	header := http.Header{"Metadata": {"true"}, "Authorization": {"Basic " + string(key)}}
	raw, err := again(ctx, direct(), http.MethodGet, address, header, "")
	if err != nil {
		return token{}, err
	}
	t, client, err := decode(raw)
	if want := which.Get("client_id"); err == nil && want != "" && !strings.EqualFold(client, want) {
		return token{}, errors.New("the agent of Azure Arc gives the identity of the machine, not the one that AZURE_CLIENT_ID names: update it, or unset AZURE_CLIENT_ID")
	}
	return t, err
}

// pinned is a client for Service Fabric, whose certificate nobody has signed and the environment names.
func (s *Signer) pinned(address string) (*http.Client, error) {
	want, err := hex.DecodeString(strings.ReplaceAll(s.getenv("IDENTITY_SERVER_THUMBPRINT"), " ", ""))
	if err != nil || len(want) != sha1.Size || !strings.HasPrefix(address, "https://") {
		return nil, errors.New("IDENTITY_ENDPOINT must be an https address and IDENTITY_SERVER_THUMBPRINT 40 hexadecimal digits")
	}
	c := direct()
	c.Transport.(*http.Transport).TLSClientConfig = &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // it is verified here
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) > 0 {
				if sum := sha1.Sum(state.PeerCertificates[0].Raw); subtle.ConstantTimeCompare(sum[:], want) == 1 { //nolint:gosec // as above
					return nil
				}
			}
			return errors.New("the certificate is not the one of IDENTITY_SERVER_THUMBPRINT")
		},
	}
	return c, nil
}

// with is an address with more in its query.
func with(address string, query url.Values) string {
	if strings.Contains(address, "?") {
		return address + "&" + query.Encode()
	}
	return address + "?" + query.Encode()
}

func exists(path string) bool {
	if path == "" {
		return false
	}
	_, err := os.Stat(path)
	return err == nil
}
