package openai_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm/openai"
)

func TestAzureFromEnv(t *testing.T) {
	for _, c := range []struct {
		name string
		env  map[string]string
		want openai.Azure
		err  string
	}{
		{name: "nothing"},
		{name: "resource", env: map[string]string{"AZURE_OPENAI_RESOURCE_NAME": "my-res"}, want: openai.Azure{BaseURL: "https://my-res.openai.azure.com/openai/v1"}},
		{
			name: "URL wins", env: map[string]string{"AZURE_OPENAI_RESOURCE_NAME": "my-res", "AZURE_OPENAI_BASE_URL": "https://proxy/v1", "AZURE_OPENAI_API_VERSION": "preview"},
			want: openai.Azure{BaseURL: "https://proxy/v1", APIVersion: "preview"},
		},
		{
			name: "deployments", env: map[string]string{"AZURE_OPENAI_DEPLOYMENT_NAME_MAP": "gpt-4.1=gpt-41-prod, o3 = o3-prod"},
			want: openai.Azure{Deployments: map[string]string{"gpt-4.1": "gpt-41-prod", "o3": "o3-prod"}},
		},
		{
			name: "resource is a URL", env: map[string]string{"AZURE_OPENAI_RESOURCE_NAME": "https://my-res.openai.azure.com"},
			err: `AZURE_OPENAI_RESOURCE_NAME: "https://my-res.openai.azure.com" is not a resource name; for a URL use AZURE_OPENAI_BASE_URL`,
		},
		{
			name: "no deployment", env: map[string]string{"AZURE_OPENAI_DEPLOYMENT_NAME_MAP": "a=b,gpt-4.1"},
			err: `AZURE_OPENAI_DEPLOYMENT_NAME_MAP: entry 2, "gpt-4.1", is not model=deployment`,
		},
		{
			name: "empty name", env: map[string]string{"AZURE_OPENAI_DEPLOYMENT_NAME_MAP": "a="},
			err: `AZURE_OPENAI_DEPLOYMENT_NAME_MAP: entry 1, "a=", is not model=deployment`,
		},
		{
			name: "a final comma", env: map[string]string{"AZURE_OPENAI_DEPLOYMENT_NAME_MAP": "a=b,"},
			err: `AZURE_OPENAI_DEPLOYMENT_NAME_MAP: entry 2, "", is not model=deployment`,
		},
		{
			name: "twice", env: map[string]string{"AZURE_OPENAI_DEPLOYMENT_NAME_MAP": "a=b,a=c"},
			err: `AZURE_OPENAI_DEPLOYMENT_NAME_MAP: entry 2 names "a" a second time`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := openai.AzureFromEnv(func(name string) string { return c.env[name] })
			if c.err != "" {
				if err == nil || err.Error() != c.err {
					t.Errorf("error %v, want %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
