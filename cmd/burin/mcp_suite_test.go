package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
)

// suiteClient is the client that the conformance suite starts: the built burin, with a home of its own,
// which adds the server of the scenario, logs in where that is wanted, and has a scripted model
// call the server's tools. The person at it opens every page and takes what is proposed.
func suiteClient() {
	if err := suiteScenario(os.Args[len(os.Args)-1], os.Getenv("MCP_CONFORMANCE_SCENARIO"), os.Getenv("MCP_CONFORMANCE_CONTEXT")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// suiteCall is a call of a scenario.
type suiteCall struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"arguments"`
}

// suiteCalls are the calls of scenarios; the others call test-tool, if at all, or what the suite says.
func suiteCalls(home, scenario string) ([]suiteCall, error) {
	none := json.RawMessage("{}")
	switch scenario {
	case "initialize", "request-metadata", "json-schema-ref-no-deref":
		return nil, nil
	case "tools_call":
		return []suiteCall{{"add_numbers", json.RawMessage(`{"a":5,"b":3}`)}}, nil
	case "elicitation-sep1034-client-defaults":
		return []suiteCall{{"test_client_elicitation_defaults", none}}, nil
	case "sse-retry":
		return []suiteCall{{"test_reconnection", none}}, nil
	case "http-standard-headers":
		return []suiteCall{{"test_headers", none}}, nil
	case "json-schema-2020-12-preservation": // the schema as burin got it
		lists, err := filepath.Glob(filepath.Join(home, "burin", "cache", "mcp", "*.json"))
		if err != nil || len(lists) != 1 {
			return nil, fmt.Errorf("%d lists of tools, %v", len(lists), err)
		}
		text, err := os.ReadFile(lists[0])
		if err != nil {
			return nil, err
		}
		var kept struct {
			Tools []struct {
				Name        string          `json:"name"`
				InputSchema json.RawMessage `json:"inputSchema"`
			} `json:"tools"`
		}
		if err := json.Unmarshal(text, &kept); err != nil || len(kept.Tools) == 0 {
			return nil, fmt.Errorf("%d tools, %v", len(kept.Tools), err)
		}
		return []suiteCall{{"json_schema_echo", json.RawMessage(`{"schema":` + string(kept.Tools[0].InputSchema) + `}`)}}, nil
	case "http-invalid-tool-headers":
		return []suiteCall{{"valid_tool", json.RawMessage(`{"region":"north"}`)}}, nil
	case "sep-2322-client-request-state":
		return []suiteCall{{"test_mrtr_echo_state", none}, {"test_mrtr_unrelated", none}, {"test_mrtr_no_state", none}, {"test_mrtr_no_result_type", none}}, nil
	}
	return []suiteCall{{"test-tool", none}}, nil
}

func suiteScenario(server, scenario, about string) error {
	home, err := os.MkdirTemp("", "suite")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	var client struct {
		ID     string      `json:"client_id"`
		Secret string      `json:"client_secret"`
		Key    string      `json:"private_key_pem"`
		Calls  []suiteCall `json:"toolCalls"`
	}
	_ = json.Unmarshal([]byte(about), &client) // most have none
	if err := os.Mkdir(filepath.Join(home, "work"), 0o700); err != nil {
		return err
	}
	burin := func(args ...string) *exec.Cmd {
		cmd := exec.Command(os.Getenv("SUITE_BURIN"), args...)
		cmd.Dir = filepath.Join(home, "work")
		cmd.Env = []string{"HOME=" + home, "BURIN_HOME=" + filepath.Join(home, "burin"), "BURIN_NO_KEYRING=1", "PATH=" + os.Getenv("PATH"), "TMPDIR=" + home, "GORACE=" + noPause, "SUITE_SECRET=" + client.Secret, "SUITE_KEY=" + client.Key}
		return cmd
	}
	definition := map[string]any{"type": "http", "url": server}
	if scenario == "auth/basic-cimd" { // the address of a document that describes a client, which its owner keeps
		client.ID = "https://conformance-test.local/client-metadata.json"
	}
	if client.ID != "" {
		oauth := map[string]string{"clientId": client.ID}
		if client.Secret != "" {
			oauth["clientSecret"] = "${SUITE_SECRET}"
		}
		if client.Key != "" {
			oauth["privateKey"] = "${SUITE_KEY}"
		}
		if strings.HasPrefix(scenario, "auth/client-credentials") {
			oauth["grant"] = "client_credentials"
		}
		definition["oauth"] = oauth
	}
	text, err := json.Marshal(definition)
	if err != nil {
		return err
	}
	out, err := burin("mcp", "add-json", "suite", string(text)).CombinedOutput()
	fmt.Printf("%s", out)
	if err != nil {
		return err
	}
	all := client.Calls
	if len(all) == 0 {
		if all, err = suiteCalls(home, scenario); err != nil {
			return err
		}
	}
	used := llm.Usage{Input: 100, Output: 20}
	var turns []llmtest.Turn
	for range 4 { // prompts
		for _, one := range all {
			turns = append(turns, llmtest.Turn{Parts: []llmtest.Part{{Call: "mcp__suite__" + one.Name, Args: string(one.Args)}}, Events: llmtest.Stop(llm.StopToolUse, used)})
		}
		turns = append(turns, llmtest.Turn{Parts: []llmtest.Part{{Text: "Done."}}, Events: llmtest.Stop(llm.StopEnd, used)})
	}
	model, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: turns})
	if err != nil {
		return err
	}
	defer model.Close()
	for name, text := range map[string]string{
		"burin/models.yml": fmt.Sprintf("providers: {box: {baseUrl: '%s', api: anthropic-messages, auth: none, models: [{id: m, contextWindow: 100000, cost: free}]}}\n", model.URL),
		"burin/config.yml": "modelRoles: {default: box/m}\napproval: full\n",
		"work/.git/HEAD":   "ref: refs/heads/main\n",
	} {
		path := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	for range 3 {
		if strings.Contains(string(out), "burin mcp login suite") {
			if err := suiteLogin(burin("mcp", "login", "suite")); err != nil {
				return err
			}
		}
		if len(all) == 0 {
			return nil
		}
		printed, err := suitePrompt(burin("--mode", "rpc"))
		if fmt.Printf("%.20000s", printed); err != nil {
			return err
		}
		// The person is told, and the model.
		said := model.Raw()
		if out = append(printed, said[len(said)-1].Body...); !strings.Contains(string(out), "burin mcp login suite") {
			return nil
		}
		fmt.Println("a login is wanted")
	}
	return fmt.Errorf("the login never was enough")
}

// suiteLogin logs in, and opens the page like a browser.
func suiteLogin(cmd *exec.Cmd) error {
	out, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	cmd.Stdout = os.Stdout
	if err := cmd.Start(); err != nil {
		return err
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		fmt.Println(lines.Text())
		if page := strings.TrimSpace(lines.Text()); strings.HasPrefix(page, "http") {
			if resp, err := http.Get(page); err == nil {
				resp.Body.Close()
			}
		}
	}
	return cmd.Wait()
}

// suitePrompt has the model work, gives the first answer to each question, and Kim for words. It
// gives what was printed.
func suitePrompt(cmd *exec.Cmd) (printed []byte, err error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var warned bytes.Buffer
	cmd.Stderr = io.MultiWriter(os.Stderr, &warned)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	send := func(v any) {
		line, _ := json.Marshal(v)
		_, _ = in.Write(append(line, '\n'))
	}
	send(map[string]string{"id": "1", "type": "prompt", "message": "go"})
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		printed = append(printed, line...)
		var m struct {
			Type, ID, Method, Placeholder string
			Options                       []string
		}
		_ = json.Unmarshal(line, &m)
		switch {
		case m.Type == "extension_ui_request" && m.Method == "select":
			send(map[string]string{"type": "extension_ui_response", "id": m.ID, "value": m.Options[0]})
		case m.Type == "extension_ui_request" && m.Method == "input":
			words := "Kim"
			if m.Placeholder != "" { // it is a list of numbers
				words = "1"
			}
			send(map[string]string{"type": "extension_ui_response", "id": m.ID, "value": words})
		case m.Type == "agent_settled":
			in.Close()
		}
	}
	_, _ = io.Copy(io.Discard, out)
	err = cmd.Wait()
	return append(printed, warned.Bytes()...), err
}

// suiteScenarios are the client scenarios of the suite but for those of extensions that burin doesn't have: dpop, workload
// identities, skills, and enterprise-managed-authorization, which exchanges the token of a company's login.
var suiteScenarios = []string{
	"initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry",
	"request-metadata", "sep-2322-client-request-state", "http-standard-headers", "http-custom-headers", "http-invalid-tool-headers", "json-schema-ref-no-deref", "json-schema-2020-12-preservation",
	"auth/metadata-default", "auth/metadata-var1", "auth/metadata-var2", "auth/metadata-var3", "auth/basic-cimd",
	"auth/scope-from-www-authenticate", "auth/scope-from-scopes-supported", "auth/scope-omitted-when-undefined", "auth/scope-step-up", "auth/scope-retry-limit",
	"auth/token-endpoint-auth-basic", "auth/token-endpoint-auth-post", "auth/token-endpoint-auth-none", "auth/pre-registration",
	"auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback",
	"auth/resource-mismatch", "auth/offline-access-scope", "auth/offline-access-not-supported", "auth/authorization-server-migration", "auth/metadata-issuer-mismatch",
	"auth/iss-supported", "auth/iss-not-advertised", "auth/iss-supported-missing", "auth/iss-wrong-issuer", "auth/iss-unexpected", "auth/iss-normalized",
	"auth/client-credentials-jwt", "auth/client-credentials-basic",
}

// suite is a command of the official conformance suite.
func suite(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	npm := npmFolder(t)
	script := filepath.Join(npm, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")
	if _, err := os.Stat(script); err != nil {
		t.Skipf("the conformance suite is not in BURIN_NPM: %v", err)
	}
	shim, err := filepath.Abs(filepath.Join("testdata", "npm", "conformance.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", append([]string{"--import", shim, script}, args...)...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "GORACE="+noPause)
	return cmd
}

// The official suite passes for the client: the built program, from the file with the server to what a
// model gets of it.
func TestMCPConformanceClient(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	client, program := filepath.Join(bin, "mcp-suite-client"), filepath.Join(bin, "burin")
	for _, name := range []string{client, program} {
		if err := os.Symlink(self, name); err != nil {
			t.Fatal(err)
		}
	}
	for _, scenario := range suiteScenarios {
		t.Run(scenario, func(t *testing.T) {
			tries := 1
			switch scenario { // on a busy machine
			case "sse-retry": // which measures 200 ms
				tries = 3
			case "auth/authorization-server-migration": // a prompt may end before the server has said that it wants another login
				tries = 3
			}
			for {
				cmd := suite(t, "client", "--command", client, "--scenario", scenario, "--timeout", "60000")
				cmd.Env = append(cmd.Env, "SUITE_BURIN="+program)
				out, err := cmd.CombinedOutput()
				if err == nil && strings.Contains(string(out), "OVERALL: PASSED") {
					return
				}
				if tries--; tries == 0 {
					t.Fatalf("%v\n%s", err, out)
				}
			}
		})
	}
}
