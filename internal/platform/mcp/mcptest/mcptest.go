// Package mcptest has a server of the Model Context Protocol for tests, made with the official
// SDK: as a program over standard input and output, and over both kinds of HTTP.
package mcptest

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Marker is the first argument of a test program that is to be a server: see [Main].
const Marker = "mcptest-server"

// Main is a server over standard input and output if the process was started as one, and then
// does not return. The argument after the marker is the number of further tools.
func Main() {
	if len(os.Args) < 2 || os.Args[1] != Marker {
		return
	}
	more := 0
	if len(os.Args) > 2 {
		fmt.Sscan(os.Args[2], &more) //nolint:errcheck // 0 is right for everything else
	}
	fmt.Println("this line is no message") // as some programs do
	fmt.Fprintln(os.Stderr, "a word of the server")
	if err := New(more).Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
	os.Exit(0)
}

// words are the arguments of most tools.
type words struct {
	Text string `json:"text,omitempty" jsonschema:"any text"`
}

func say(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// New makes a server. Its tools are echo, which is read-only, environment, picture, fail, grow
// (which adds the tool grown), stop and so many others.
func New(more int) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "mcptest", Version: "1"}, nil)
	type handler = func(context.Context, *mcp.CallToolRequest, words) (*mcp.CallToolResult, any, error)
	add := func(name, description string, reads bool, h handler) {
		t := &mcp.Tool{Name: name, Description: description}
		if reads {
			t.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true}
		}
		mcp.AddTool(s, t, h)
	}
	add("echo", "Says a text again.", true, func(_ context.Context, _ *mcp.CallToolRequest, in words) (*mcp.CallToolResult, any, error) {
		return say("echo: " + in.Text), nil, nil
	})
	add("environment", "Names the variables of the server.", false, func(context.Context, *mcp.CallToolRequest, words) (*mcp.CallToolResult, any, error) {
		return say(strings.Join(os.Environ(), "\n")), nil, nil
	})
	add("picture", "Draws.", false, func(context.Context, *mcp.CallToolRequest, words) (*mcp.CallToolResult, any, error) {
		var b bytes.Buffer
		if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.ImageContent{MIMEType: "image/png", Data: b.Bytes()},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "test://one", Text: "inside"}},
			&mcp.ResourceLink{URI: "test://two", Name: "two"},
		}}, nil, nil
	})
	add("fail", "Fails.", false, func(context.Context, *mcp.CallToolRequest, words) (*mcp.CallToolResult, any, error) {
		return nil, nil, fmt.Errorf("it failed as it should")
	})
	add("grow", "Adds a tool.", false, func(context.Context, *mcp.CallToolRequest, words) (*mcp.CallToolResult, any, error) {
		add("grown", "Was added.", false, func(context.Context, *mcp.CallToolRequest, words) (*mcp.CallToolResult, any, error) {
			return say("grown"), nil, nil
		})
		return say("done"), nil, nil
	})
	add("stop", "Ends the server.", false, func(context.Context, *mcp.CallToolRequest, words) (*mcp.CallToolResult, any, error) {
		os.Exit(3)
		return nil, nil, nil
	})
	add("hang", "Does not answer until it is canceled.", false, func(ctx context.Context, _ *mcp.CallToolRequest, _ words) (*mcp.CallToolResult, any, error) {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	read := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: "text/plain", Text: "about " + r.Params.URI}}}, nil
	}
	s.AddResource(&mcp.Resource{URI: "test://one", Name: "one", Description: "The first."}, read)
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "test://of/{name}", Name: "others"}, read)
	s.AddPrompt(&mcp.Prompt{Name: "greet", Arguments: []*mcp.PromptArgument{{Name: "who", Required: true}, {Name: "how"}}},
		func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			said := fmt.Sprintf("Greet %s (%s).", r.Params.Arguments["who"], r.Params.Arguments["how"])
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: said}}}}, nil
		})
	for i := range more {
		add(fmt.Sprintf("other_%03d", i), fmt.Sprintf("Does thing number %d with a text.", i), false, func(_ context.Context, _ *mcp.CallToolRequest, in words) (*mcp.CallToolResult, any, error) {
			return say(fmt.Sprintf("thing %d: %s", i, in.Text)), nil, nil
		})
	}
	return s
}

// HTTP serves a server at /mcp, and over the older kind of HTTP at /sse. With a token, requests
// need it.
func HTTP(more int, token string) http.Handler {
	s := New(more)
	get := func(*http.Request) *mcp.Server { return s }
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(get, nil))
	mux.Handle("/sse", mcp.NewSSEHandler(get, nil))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token != "" && r.Header.Get("Authorization") != "Bearer "+token {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	})
}
