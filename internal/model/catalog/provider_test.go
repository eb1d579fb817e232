package catalog_test

import (
	"testing"

	"github.com/burin-dev/burin/internal/model/catalog"
)

// Keys may stand in headers, of the provider or of one of its models: where there are some, the address isn't changed but by hand.
func TestOwnKeyed(t *testing.T) {
	for says, keyed := range map[string]bool{
		"models: [{id: m, name: M}]":                                                           false,
		"apiKey: K\n    models: [{id: m}]":                                                     true,
		"headers: {X-Key: K}\n    models: [{id: m}]":                                           true,
		"requestTransform: {setHeaders: {X-Key: K}}\n    models: [{id: m}]":                    true,
		"requestTransform: {stripHeaders: [X-Key]}\n    models: [{id: m}]":                     false,
		"models: [{id: n}, {id: m, headers: {X-Key: K}}]":                                      true,
		"models: [{id: m, requestTransform: {setHeaders: {X-Key: K}}}]":                        true,
		"modelOverrides: {m: {headers: {X-Key: K}}}\n    models: [{id: m}]":                    true,
		"modelOverrides: {m: {requestTransform: {setHeaders: {X: K}}}}\n    models: [{id: m}]": true,
	} {
		c, err := catalog.Open(catalog.Options{Home: home(t, "models.yml", "providers:\n  x:\n    baseUrl: https://x.example/v1\n    api: openai-completions\n    auth: none\n    "+says+"\n")})
		if err != nil {
			t.Fatal(err)
		}
		if is, ok := c.Registry.Own("x"); !ok || is.Keyed != keyed {
			t.Errorf("%s: keyed is %v, %v", says, is.Keyed, ok)
		}
	}
}
