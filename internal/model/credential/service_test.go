package credential_test

import (
	"testing"

	"github.com/burin-dev/burin/internal/model/credential"
)

// A login belongs to the address that it was made for, and to no other.
func TestService(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://a.example/mcp":                "mcp:https://a.example/mcp",
		"https://A.example:443/mcp/?key=1":     "mcp:https://a.example/mcp",
		"https://a.example":                    "mcp:https://a.example",
		"https://a.example:8443/mcp":           "mcp:https://a.example:8443/mcp",
		"https://a.example/MCP":                "mcp:https://a.example/MCP",
		"http://127.0.0.1:80/x":                "mcp:http://127.0.0.1/x",
		"http://a.example/mcp":                 "",
		"https://kim:secret@a.example/mcp":     "",
		"http://localhost.evil.example/mcp":    "",
		"http://127.0.0.1.evil.example:80/mcp": "",
		"ftp://a.example":                      "",
	} {
		got, err := credential.Service(address)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v; want %q", address, got, err, want)
		}
	}
}
