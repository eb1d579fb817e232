package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/burin-dev/burin/llm/internal/azureauth"
)

// Azure says where models are deployed at Azure. The zero value leaves the base
// URL to the endpoint and calls deployments by the models' own names.
type Azure struct {
	// BaseURL is "https://<resource>.openai.azure.com/openai/v1" or a proxy of it.
	// It wins over the endpoint's. The path is added to the bare host of a resource.
	BaseURL string
	// APIVersion is the api-version of the query; empty = v1.
	APIVersion string
	// Deployments maps a model's id to the name it is deployed under.
	Deployments map[string]string
}

// AzureFromEnv reads AZURE_OPENAI_BASE_URL, else AZURE_OPENAI_RESOURCE_NAME;
// AZURE_OPENAI_API_VERSION; and AZURE_OPENAI_DEPLOYMENT_NAME_MAP, a list
// "model=deployment,model=deployment".
func AzureFromEnv(getenv func(string) string) (Azure, error) {
	a := Azure{BaseURL: getenv("AZURE_OPENAI_BASE_URL"), APIVersion: getenv("AZURE_OPENAI_API_VERSION")}
	if name := getenv("AZURE_OPENAI_RESOURCE_NAME"); a.BaseURL == "" && name != "" {
		if strings.ContainsFunc(name, func(r rune) bool { return !azureNameRune(r) }) {
			return Azure{}, fmt.Errorf("AZURE_OPENAI_RESOURCE_NAME: %q is not a resource name; for a URL use AZURE_OPENAI_BASE_URL", name)
		}
		a.BaseURL = "https://" + name + ".openai.azure.com/openai/v1"
	}
	var err error
	if a.Deployments, err = azureDeployments(getenv("AZURE_OPENAI_DEPLOYMENT_NAME_MAP")); err != nil {
		return Azure{}, fmt.Errorf("AZURE_OPENAI_DEPLOYMENT_NAME_MAP: %w", err)
	}
	return a, nil
}

func azureNameRune(r rune) bool {
	return r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// azureDeployments reads "model=deployment,…". A list that is wrong anywhere is
// refused: a model that silently keeps its own name fails later and far away.
func azureDeployments(s string) (map[string]string, error) {
	if strings.TrimSpace(s) == "" {
		return nil, nil
	}
	m := map[string]string{}
	for i, entry := range strings.Split(s, ",") {
		model, deployment, ok := strings.Cut(entry, "=")
		model, deployment = strings.TrimSpace(model), strings.TrimSpace(deployment)
		if !ok || model == "" || deployment == "" || strings.Contains(deployment, "=") {
			return nil, fmt.Errorf("entry %d, %q, is not model=deployment", i+1, entry)
		}
		if _, taken := m[model]; taken {
			return nil, fmt.Errorf("entry %d names %q a second time", i+1, model)
		}
		m[model] = deployment
	}
	return m, nil
}

var errNoAzureURL = errors.New("no base URL for Azure OpenAI: set AZURE_OPENAI_RESOURCE_NAME or AZURE_OPENAI_BASE_URL")

// baseURL is the URL to append "/responses" to.
func (a *Azure) baseURL(endpoint string) (string, error) {
	base := a.BaseURL
	if base == "" {
		base = endpoint
	}
	if base == "" {
		return "", errNoAzureURL
	}
	u, err := url.Parse(base)
	if err != nil {
		return base, nil // refused with a message of its own when the request is made
	}
	if !strings.HasSuffix(u.Hostname(), ".azure.com") {
		return base, nil
	}
	switch strings.Trim(u.Path, "/") {
	case "", "openai":
		u.Path = "/openai/v1"
	}
	return u.String(), nil
}

func (a *Azure) query() string {
	version := a.APIVersion
	if version == "" {
		version = "v1"
	}
	return "?api-version=" + url.QueryEscape(version)
}

// deployment is the name to ask for: the one mapped from the model's id or from
// the id it has upstream, else the latter.
func (a *Azure) deployment(id, upstream string) string {
	for _, name := range []string{id, upstream} {
		if d, ok := a.Deployments[name]; ok {
			return d
		}
	}
	return upstream
}

// EntraID returns an Authorize function for [ResponsesOptions] that signs requests
// to Azure in with Microsoft Entra ID: environment, workload or managed identity,
// or the login of Azure's command line tools, whichever answers first. Nothing
// is looked for before the first request.
func EntraID() func(ctx context.Context, r *http.Request, body []byte) error {
	return azureauth.New(nil).Authorize
}
